// Requests and answers.
#include "session.h"

namespace pagoda::tools::bench {

Json Session::ask(const Json& request, const std::string& expected) {
  process_.write_line(request.dump(-1, ' ', false, Json::error_handler_t::replace));
  std::string line;
  while (true) {
    const End end = process_.read_line(line);
    if (end != End::Line) throw Ended{end, {}};
    // What a framework prints between answers is no answer.
    if (line.empty() || line.front() != '{') continue;
    Json answer = Json::parse(line, nullptr, false);
    if (!answer.is_object() || !answer.contains("event") || !answer["event"].is_string()) continue;
    const std::string event = answer["event"].get<std::string>();
    if (event == expected) return answer;
    if (event == "error" || event == "unavailable" || event == "unsupported") throw Ended{End::Line, std::move(answer)};
  }
}

Json Session::ask_if_known(const Json& request, const std::string& expected) {
  try {
    return ask(request, expected);
  } catch (const Ended& ended) {
    if (ended.end != End::Line || ended.event.value("event", "") != "unsupported") throw;
    return Json::object();
  }
}

}  // namespace pagoda::tools::bench
