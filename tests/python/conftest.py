import json
import subprocess
import sys
from pathlib import Path

import pytest


def pytest_addoption(parser):
    parser.addoption("--models", required=True, help="folder of the bundled skeletons")


@pytest.fixture
def skeletons(request):
    return Path(request.config.getoption("--models"))


@pytest.fixture
def tool():
    """Runs a tool of the package like a user: by its name in the environment's program folder."""

    def run(name, *arguments):
        program = Path(sys.executable).with_name(name)
        return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)

    return run


@pytest.fixture
def estimate_json(tool):
    """The output of onnx-estimate for the same request."""

    def run(*arguments):
        result = tool("onnx-estimate", *arguments, "--format", "json")
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    return run
