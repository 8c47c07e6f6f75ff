#!/usr/bin/env bash
# A study through a real Slurm: munged, slurmctld and slurmd from Debian's packages, started here
# with a configuration of their own. An array of 12 experiments, one of which is ended and requeued
# midway; each record must exist exactly once.
#   tests/bench_runner/slurm_test.sh PAGODA_BENCH FAKE_WORKER
# Exits 77 with the reason where Slurm is not installed or does not start. Touches no existing Slurm.
set -uo pipefail
bench=$(realpath "$1") worker=$(realpath "$2")
skip() { echo "skipped: $1"; exit 77; }
fail() { echo "FAILED: $1"; exit 1; }

PATH=$PATH:/usr/sbin:/sbin
for program in munged slurmctld slurmd sbatch squeue scontrol; do
  command -v "$program" >/dev/null || skip "$program is not installed (apt install slurm-wlm munge)"
done
[ "$(id -u)" -eq 0 ] || skip "slurmd is started here by root alone"

# In /tmp, since munge insists that any user can reach its socket.
root=$(mktemp -d /tmp/pagoda_slurm.XXXXXX)
chmod 755 "$root"
pids() { cat "$root"/*.pid 2>/dev/null; }
clean() {
  [ -f "$root/slurmctld.pid" ] && timeout 10 scancel --user="$(id -un)" >/dev/null 2>&1
  local all
  all=$(pids)
  [ -n "$all" ] && kill $all 2>/dev/null
  for _ in $(seq 100); do
    local alive=
    for pid in $all; do kill -0 "$pid" 2>/dev/null && alive=1; done
    [ -z "$alive" ] && break
    sleep 0.1
  done
  [ -n "$all" ] && kill -9 $all 2>/dev/null
  rm -rf "$root"
}
trap clean EXIT

mkdir -p "$root"/{state,spool,socket,study}
mkdir -m 700 "$root/munge"
(umask 077 && head -c 128 /dev/urandom >"$root/munge/key")
host=$(hostname -s)
ports=$((20000 + RANDOM % 20000))
# A requeued job waits until its old credentials have expired: here 5 s instead of 120.
cat >"$root/slurm.conf" <<CONF
ClusterName=pagoda
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$root/socket/munge,cred_expire=5
CredType=cred/munge
SlurmctldPort=$ports
SlurmdPort=$((ports + 1))
StateSaveLocation=$root/state
SlurmdSpoolDir=$root/spool
SlurmctldPidFile=$root/slurmctld.pid
SlurmdPidFile=$root/slurmd.pid
SlurmctldLogFile=$root/slurmctld.log
SlurmdLogFile=$root/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
MaxArraySize=8
KillWait=2
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$root/slurm.conf
munged --key-file="$root/munge/key" --socket="$root/socket/munge" --pid-file="$root/munge.pid" \
  --log-file="$root/munge/log" --seed-file="$root/munge/seed" >"$root/start.log" 2>&1 ||
  skip "munged does not start: $(tail -1 "$root/start.log")"
slurmctld -f "$SLURM_CONF" >>"$root/start.log" 2>&1 || skip "slurmctld does not start: $(tail -1 "$root/start.log")"
slurmd -f "$SLURM_CONF" >>"$root/start.log" 2>&1 || skip "slurmd does not start: $(tail -1 "$root/start.log")"
for _ in $(seq 100); do
  state=$(sinfo --noheader -o %T 2>/dev/null)
  [ "$state" = idle ] && break
  sleep 0.1
done
[ "$state" = idle ] || skip "the node is ${state:-not there}: $(tail -n1 "$root/slurmctld.log")"

# 12 experiments of about two seconds each; each writes its worker's process number.
cat >"$root/study.toml" <<STUDY
backend = "fake"
batch = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
[options]
pid_file = "$root/pids"
prepare_seconds = 2
[backends.fake]
command = ["$worker"]
[measure]
budget_seconds = 0.1
warmup_seconds = 0.1
[limits]
seconds = 60
STUDY
cd "$root" || exit 1
began=$SECONDS
"$bench" submit --slurm study.toml -o study --max-parallel 2 || fail "submit exited with $?"
grep -q '"tasks"' study/slurm.json || fail "there is no slurm.json"
[ "$(ls study/slurm/array-*.sh | wc -l)" -eq 2 ] || fail "12 experiments with MaxArraySize 8 are not two arrays"
"$bench" submit --slurm study.toml -o study | grep -q "nothing to submit" || fail "queued experiments were submitted again"

# A running task is ended and requeued. squeue prints JOB_TASK.
for _ in $(seq 100); do
  running=$(squeue --noheader --array --states=RUNNING -o %i | head -1)
  [ -n "$running" ] && [ -s pids ] && break
  sleep 0.1
done
[ -n "$running" ] || fail "nothing runs: $(squeue --noheader --array)"
scontrol requeue "$running" || fail "scontrol requeue $running"
sleep 0.5
"$bench" status study >status.txt || fail "status exited with $?"
cat status.txt
grep -q '^requeued     1 ' status.txt || fail "status does not say that one task is requeued"
grep -q '^pending ' status.txt || fail "status does not say that tasks wait"

for _ in $(seq 1800); do
  "$bench" status study | grep -q '^left         0' && break
  sleep 0.1
done
"$bench" status study >status.txt
cat status.txt
grep -q '^ok           12$' status.txt || fail "not all are ok: $(cat study/slurm/*.out)"
grep -q -e '^failed' -e '^forgotten' status.txt && fail "there are failed tasks"
# When requeued once more, tasks that have a record do nothing.
for _ in $(seq 200); do
  [ -z "$(squeue --noheader)" ] && break
  sleep 0.1
done
scontrol requeue "$running" || fail "scontrol requeue $running, done"
for _ in $(seq 200); do
  [ "$(squeue --noheader --array --states=all -j "${running%_*}" -O JobArrayID:\|,State:\|,RestartCnt:\| |
    tr -d ' ' | grep -c "^$running|COMPLETED|2|")" -eq 1 ] && break
  sleep 0.1
done
cat study/results-*.jsonl >all.jsonl
lines=$(wc -l <all.jsonl)
keys=$(grep -o '"key":"[0-9a-f]*"' all.jsonl | sort -u | wc -l)
starts=$(wc -l <pids)
echo "12 experiments in 2 arrays: $lines records of $keys keys, $starts workers started, $((SECONDS - began)) s"
[ "$lines" -eq 12 ] && [ "$keys" -eq 12 ] || fail "expected 12 records of 12 keys"
[ "$starts" -eq 13 ] || fail "expected 13 workers: 12 and that of the task that was ended"
