#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/flow.h"
#include "tests/support/websocket_client.h"

// /api/events over a WebSocket and as server-sent events (SPEC §7, §9).
namespace reeve {
namespace {

using Client = testing::WebSocketClient;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::RawSocket;
using ::testing::StartsWith;

class Events : public testing::FlowTest {
 protected:
  Events() { reeve({"runs"}); }

  Client connect() const { return Client(socket(), "/api/events"); }
  static Members next(Client& client) {
    const auto text = client.read_text();
    EXPECT_TRUE(text) << "closed: " << client.close_code() << " " << client.close_reason();
    return testing::parse_object(text.value_or("{}")).value_or(Members());
  }
  // Subscribes and returns the reply; `names` is JSON.
  static Members subscribe(Client& client, const std::string& names, std::optional<std::int64_t> since = {}) {
    const std::string from = since ? fmt::format(R"(,"since":{})", *since) : std::string();
    client.send_text(fmt::format(R"({{"type":"subscribe","events":{}{},"frames":"event"}})", names, from));
    return next(client);
  }
  static std::int64_t number(const Members& message, const std::string& name) {
    const auto found = message.find(name);
    return found != message.end() ? std::stoll(found->second) : -1;
  }

  // Events as the store has them.
  std::vector<Members> stored() const {
    std::vector<Members> events;
    for (const std::string& text : testing::parse_array(reeve({"events", "--json"}).out).value_or(testing::Words())) {
      events.push_back(testing::parse_object(text).value_or(Members()));
    }
    return events;
  }
  std::int64_t last() const { return static_cast<std::int64_t>(stored().size()); }

  // Reads events up to that number and checks that they are consecutive; returns them without `type`.
  static std::vector<Members> read_until(Client& client, std::int64_t after, std::int64_t until) {
    std::vector<Members> events;
    for (std::int64_t seq = after + 1; seq <= until; ++seq) {
      Members event = next(client);
      EXPECT_EQ(event["type"], "event");
      EXPECT_EQ(event["seq"], std::to_string(seq));
      if (event["seq"] != std::to_string(seq)) return events;
      event.erase("type");
      events.push_back(std::move(event));
    }
    return events;
  }

  // Reads events after that number, checking that they are consecutive, until that many executions have ended or up to
  // `until`; reconnects when cut. Returns the last number.
  std::int64_t follow(std::int64_t seen, int executions, std::int64_t until = -1) const {
    for (int connections = 0; connections < 100; ++connections) {
      Client client = connect();
      client.send_text(fmt::format(R"({{"type":"subscribe","events":["*"],"since":{},"frames":"event"}})", seen));
      while (const auto text = client.read_text()) {
        Members message = testing::parse_object(*text).value_or(Members());
        if (message["type"] == "subscribed") continue;
        EXPECT_EQ(message["seq"], std::to_string(seen + 1)) << *text;
        if (number(message, "seq") != seen + 1) return -1;
        ++seen;
        const bool is_over = message["event"] == "execution_status_change" && message["status"] == "completed";
        if (seen == until || (is_over && --executions == 0)) return seen;
      }
      EXPECT_EQ(client.close_code(), 1013);
    }
    return -1;
  }

  // A workflow whose nodes are all skipped at once, which makes that many events in one commit.
  std::string write_skipped(int count) const {
    std::string nodes = "  - {id: start, type: task, task_config: {role: noop}}\n";
    std::string edges;
    std::string before = "start";
    for (int i = 0; i < count; ++i) {
      nodes += fmt::format("  - {{id: n{}, type: task, task_config: {{role: noop}}}}\n", i);
      edges += fmt::format("  - {{id: e{0}, source: {1}, target: n{0}{2}}}\n", i, before,
                           i == 0 ? R"(, condition: {field: missing, operator: "==", value: true})" : "");
      before = fmt::format("n{}", i);
    }
    return write_workflow("skipped",
                          fmt::format("id: skipped\nname: Skipped\nentry_point: start\nexit_points: [start]\n"
                                      "nodes:\n{}edges:\n{}",
                                      nodes, edges));
  }
  void make_events(const std::string& workflow) const {
    const std::string id = begin(workflow);
    EXPECT_EQ(wait_for(id), 0) << reeve({"show", id}).out;
  }
};

// §9: numbered without gaps, from exactly the number of the snapshot.
TEST_F(Events, arrive_without_gaps_while_runs_start_and_end) {
  const std::int64_t before = last();
  Client client = connect();
  ASSERT_TRUE(client.is_open()) << client.head();
  Members answer = subscribe(client, R"(["*"])");
  EXPECT_EQ(answer["type"], "subscribed");
  EXPECT_EQ(answer["events"], R"(["*"])");
  const std::int64_t snapshot = number(answer, "snapshot");
  EXPECT_GE(snapshot, before);
  EXPECT_EQ(answer["last"], answer["snapshot"]);
  std::vector<std::string> runs;
  for (int i = 0; i < 5; ++i) runs.push_back(detach({}, {"exit", std::to_string(i)}));
  for (const std::string& run : runs) finish(run);
  const auto all = stored();
  const auto events = read_until(client, snapshot, static_cast<std::int64_t>(all.size()));
  EXPECT_EQ(events, std::vector<Members>(all.begin() + snapshot, all.end()));
}

// A client resumes after the last event it has seen and gets each event once.
TEST_F(Events, resume_by_sequence_number) {
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  const auto all = stored();
  const auto end = static_cast<std::int64_t>(all.size());
  ASSERT_GE(end, 3);
  for (const std::int64_t since : {std::int64_t{0}, std::int64_t{1}, end - 1, end}) {
    Client client = connect();
    Members answer = subscribe(client, R"(["*"])", since);
    EXPECT_EQ(answer["snapshot"], std::to_string(since));
    EXPECT_EQ(answer["last"], std::to_string(end));
    EXPECT_EQ(read_until(client, since, end), std::vector<Members>(all.begin() + since, all.end()));
  }
}

// §9: "also answers to"; a subscriber gets each event once, under the name it subscribed to.
TEST_F(Events, carry_the_subscribed_names) {
  Client client = connect();
  const std::int64_t snapshot =
      number(subscribe(client, R"(["task_execution_complete","run.*","approval_needed"])"), "snapshot");
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  EXPECT_EQ(run({}, {"exit", "3"}).code, 3);
  std::vector<std::string> names;
  while (names.empty() || names.back() != "run.failed") {
    const Members event = next(client);
    ASSERT_TRUE(event.contains("event"));
    EXPECT_GT(number(event, "seq"), snapshot);
    EXPECT_EQ(event.count("tool_run_id"), 1U);
    names.push_back(event.at("event"));
    if (names.back().starts_with("run.")) EXPECT_EQ(names.back(), "run." + event.at("status"));
  }
  EXPECT_THAT(names, ElementsAre("run.queued", "run.running", "task_execution_complete", "run.queued", "run.running",
                                 "run.failed"));
}

// S4 §6: a subscribe message as S4 writes it gets frames as S4 writes them, with the event's name as the `type`.
TEST_F(Events, s4_subscription_gets_s4_frames) {
  Client client = connect();
  client.send_text(R"({"type":"subscribe","events":["approval_requested","approval_resolved"]})");
  Members answer = next(client);
  EXPECT_EQ(answer["type"], "subscribed");
  EXPECT_EQ(answer.count("warnings"), 0U);
  const std::string id = ask();
  Members requested = next(client);
  EXPECT_EQ(requested["type"], "approval_requested");
  EXPECT_EQ(requested["approval_id"], id);
  EXPECT_EQ(requested["question"], "Go on?");
  EXPECT_EQ(requested.count("event"), 0U);
  EXPECT_GT(number(requested, "seq"), number(answer, "snapshot"));
  EXPECT_NE(requested["timestamp"], "");
  EXPECT_EQ(reeve({"reject", id}).code, 0);
  EXPECT_EQ(next(client)["type"], "approval_resolved");
  // The other form carries the same under `event`.
  subscribe(client, R"(["approval_requested"])", number(answer, "snapshot"));
  Members again = next(client);
  EXPECT_EQ(again["type"], "event");
  EXPECT_EQ(again["event"], "approval_requested");
  EXPECT_EQ(again["seq"], requested["seq"]);
}

// A subscriber to an event that is never sent would wait forever.
TEST_F(Events, subscribing_to_a_never_sent_name_gets_a_warning) {
  Client client = connect();
  client.send_text(R"({"type":"subscribe","events":["agent_spawned","run.completed","phase_start:coding"]})");
  Members answer = next(client);
  EXPECT_EQ(answer["type"], "subscribed");
  EXPECT_THAT(answer["warnings"], AllOf(HasSubstr(R"("event":"agent_spawned")"), HasSubstr("never sends"),
                                        HasSubstr(R"("event":"phase_start:coding")"), Not(HasSubstr("run.completed"))));
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  EXPECT_EQ(next(client)["type"], "run.completed") << "the rest is subscribed to";
  const std::string lines = request("GET", "/api/events?since=0&events=agent_spawned,phase_start:a%0d%0aX-Evil:%201");
  EXPECT_THAT(lines, AllOf(StartsWith("HTTP/1.1 200"),
                           HasSubstr("Reeve-Warning: this version never sends agent_spawned, phase_start\r\n"),
                           Not(HasSubstr("X-Evil"))));
  EXPECT_THAT(request("GET", "/api/events?since=0&events=run.completed"), Not(HasSubstr("Reeve-Warning")));
}

TEST_F(Events, invalid_message_gets_an_error_and_the_connection_stays) {
  struct Case {
    std::string message;
    std::string code;
    std::string says;
  };
  const Case cases[] = {
      {R"({"type":"subscribe","events":["nonsense"]})", "events.unknown_name", "nonsense"},
      {R"({"type":"subscribe","events":["run.flying"]})", "events.unknown_name", "run.flying"},
      {R"({"type":"subscribe","events":[]})", "events.no_names", "event names"},
      {R"({"type":"subscribe"})", "api.bad_request", "events"},
      {R"({"type":"subscribe","events":"*"})", "api.bad_request", "events"},
      {R"({"type":"subscribe","events":[1]})", "api.bad_request", "events"},
      {R"({"type":"subscribe","events":["*"],"since":-1})", "api.bad_request", "since"},
      {R"({"type":"subscribe","events":["*"],"since":"1"})", "api.bad_request", "since"},
      {R"({"type":"subscribe","events":["*"],"since":999999})", "events.since_ahead", "999999"},
      {R"({"type":"subscribe","events":["*"],"frames":"all"})", "api.bad_request", "frames"},
      {R"({"type":"subscribe","events":["*"],"frames":1})", "api.bad_request", "frames"},
      {R"({"type":"decide"})", "api.bad_request", "type"},
      {R"({"type":)", "api.bad_request", "JSON"},
      {"[]", "api.bad_request", "type"},
      {std::string(60'000, '['), "api.bad_request", "JSON"},
  };
  Client client = connect();
  for (const Case& one : cases) {
    client.send_text(one.message);
    Members answer = next(client);
    EXPECT_EQ(answer["type"], "error") << one.message;
    EXPECT_EQ(answer["code"], one.code) << one.message;
    EXPECT_THAT(answer["message"], HasSubstr(one.says)) << one.message;
    EXPECT_NE(answer["fix"], "null") << one.message;
  }
  client.send_text(cases[0].message);
  EXPECT_THAT(next(client)["fix"], HasSubstr("approval_needed"));
  EXPECT_EQ(subscribe(client, R"(["*"])")["type"], "subscribed");
}

// Each line names the subject, how it ended, the question and the answer.
TEST_F(Events, text_lines_describe_each_event) {
  EXPECT_EQ(reeve({"run", "--", "sh", "-c", "exit 3"}).code, 3);
  const std::string id = ask();
  EXPECT_EQ(reeve({"reject", id, "--comment", "no"}).code, 0);
  finish("TR-2");
  const std::string lines = reeve({"events", "--since", "0"}).out;
  EXPECT_THAT(lines, AllOf(HasSubstr("\ttool_status_change\tTR-1\tfailed\tsh: exit_code != 0 (3)\n"),
                           HasSubstr("\tapproval_needed\t" + id + "\t\tsh TR-2 asks: Go on?\n"),
                           HasSubstr("\tapproval_status_change\t" + id + "\trejected\tsh TR-2: reject by ")));
}

// A number that no event has yet belongs to another store: every interface refuses it.
TEST_F(Events, sequence_number_ahead_of_the_log_is_refused) {
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  const std::string ahead = std::to_string(last() + 1'000);
  for (const char* more : {"", "&follow=1"}) {
    const std::string lines = request("GET", "/api/events?since=" + ahead + more);
    EXPECT_THAT(lines, AllOf(StartsWith("HTTP/1.1 409"), HasSubstr("events.since_ahead"))) << more;
  }
  EXPECT_THAT(request("GET", "/api/events?since=" + ahead, "", "Accept: text/event-stream\r\n"),
              AllOf(StartsWith("HTTP/1.1 409"), HasSubstr("events.since_ahead")));
  const testing::Outcome told = reeve({"events", "--since", ahead});
  EXPECT_EQ(told.code, 4);
  EXPECT_THAT(told.err, AllOf(HasSubstr("events.since_ahead"), HasSubstr(ahead)));
  EXPECT_EQ(reeve({"events", "--since", std::to_string(last())}).out, "");
}

TEST_F(Events, a_second_subscription_replaces_the_first) {
  Client client = connect();
  subscribe(client, R"(["*"])");
  Members second = subscribe(client, R"(["run.completed"])");
  EXPECT_EQ(second["type"], "subscribed");
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  EXPECT_EQ(next(client)["event"], "run.completed");
  client.send_text(R"({"type":"unsubscribe"})");
  EXPECT_EQ(next(client)["type"], "unsubscribed");
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  // No event of that run arrived before.
  EXPECT_EQ(subscribe(client, R"(["*"])")["type"], "subscribed");
}

// Output lines are not stored events: they are sent only to subscribers of that name.
TEST_F(Events, output_lines_arrive_when_subscribed_by_name) {
  Client client = connect();
  subscribe(client, R"(["tool_output"])");
  EXPECT_EQ(reeve({"run", "--", "echo", "hello there"}).code, 0);
  const Members line = next(client);
  EXPECT_EQ(line.at("event"), "tool_output");
  EXPECT_EQ(line.at("text"), "hello there");
  EXPECT_EQ(line.at("tool_run_id"), "TR-1");
  EXPECT_EQ(line.count("seq"), 0U);
}

// A client that does not read is disconnected at a limit, and misses nothing after reconnecting.
TEST_F(Events, client_that_never_reads_is_cut_and_resumes_without_loss) {
  const std::string workflow = write_skipped(3'000);
  Client deaf = connect();
  std::int64_t seen = number(subscribe(deaf, R"(["*"])"), "snapshot");
  std::int64_t heard = 0;
  std::jthread keen([&, since = seen] { heard = follow(since, 3); });
  for (int i = 0; i < 3; ++i) make_events(workflow);
  // The other client has received everything meanwhile.
  keen.join();
  while (const auto frame = deaf.read_frame()) {
    if (frame->opcode == Client::close) break;
    if (frame->opcode != Client::text) continue;
    const Members event = testing::parse_object(frame->payload).value_or(Members());
    ASSERT_EQ(number(event, "seq"), seen + 1);
    ++seen;
  }
  // The close code arrives unless the connection was cut first.
  if (deaf.close_code() != 0) EXPECT_EQ(deaf.close_code(), 1013);
  EXPECT_LT(seen, heard);
  EXPECT_EQ(follow(seen, 4, heard), heard);
}

TEST_F(Events, clients_that_never_read_delay_no_other) {
  const std::string workflow = write_skipped(500);
  std::vector<std::unique_ptr<Client>> deaf;
  for (int i = 0; i < 200; ++i) {
    deaf.push_back(std::make_unique<Client>(socket(), "/api/events"));
    ASSERT_TRUE(deaf.back()->is_open());
    deaf.back()->send_text(R"({"type":"subscribe","events":["*"],"since":0})");
  }
  const std::int64_t before = last();
  for (int i = 0; i < 3; ++i) make_events(workflow);
  EXPECT_EQ(follow(before, 3), last());
}

TEST_F(Events, message_flood_closes_the_connection) {
  Client client = connect();
  std::string flood;
  for (int i = 0; i < 5'000; ++i) flood += Client::bytes_of({Client::text, R"({"type":"unsubscribe"})"});
  client.send_raw(flood);
  EXPECT_EQ(client.read_close(), 1008);
  // The daemon still works.
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
}

TEST_F(Events, resume_after_a_daemon_restart) {
  Client client = connect();
  std::int64_t seen = number(subscribe(client, R"(["*"])"), "snapshot");
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  const std::int64_t end = last();
  read_until(client, seen, end);
  EXPECT_EQ(reeve({"stop"}).code, 0);
  EXPECT_EQ(client.read_close(), 1001);
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  Client again = connect();
  Members answer = subscribe(again, R"(["*"])", end);
  const std::int64_t now = last();
  EXPECT_GT(now, end);
  EXPECT_EQ(read_until(again, end, now).size(), static_cast<std::size_t>(now - end));
}

TEST_F(Events, invalid_upgrade_is_refused) {
  auto headers = Client::right_headers();
  for (auto& [name, value] : headers) {
    if (name == "Sec-WebSocket-Version") value = "8";
  }
  const Client old(socket(), "/api/events", headers);
  EXPECT_THAT(old.head(), StartsWith("HTTP/1.1 426 "));
  EXPECT_THAT(old.head(), HasSubstr("Sec-WebSocket-Version: 13"));
  headers = Client::right_headers();
  headers.pop_back();
  EXPECT_THAT(Client(socket(), "/api/events", headers).head(), StartsWith("HTTP/1.1 400 "));
}

class EventMessages : public Events {
 protected:
  struct Message {
    std::string id;
    std::string event;
    std::string data;
  };
  // HTTP/1.0, so that the messages come without chunk framing.
  std::unique_ptr<RawSocket> ask(const std::string& target, const std::string& headers = {}) const {
    auto made = std::make_unique<RawSocket>(socket());
    made->send("GET " + target + " HTTP/1.0\r\nAccept: text/event-stream\r\n" + headers + "\r\n");
    head_ = made->read_until("\r\n\r\n");
    return made;
  }
  static Message read(RawSocket& from) {
    Message message;
    std::string text = from.read_until("\n\n");
    while (text.starts_with(": ping")) text = from.read_until("\n\n");
    for (const std::string& line : testing::lines_of(text)) {
      if (line.starts_with("id: ")) message.id = line.substr(4);
      if (line.starts_with("event: ")) message.event = line.substr(7);
      if (line.starts_with("data: ")) message.data = line.substr(6);
    }
    return message;
  }
  mutable std::string head_;
};

// §7: SSE at the same path, resumed by Last-Event-ID.
TEST_F(EventMessages, carry_sequence_numbers_and_resume) {
  const auto stream = ask("/api/events");
  EXPECT_THAT(head_, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(head_, HasSubstr("Content-Type: text/event-stream\r\n"));
  const Message begun = read(*stream);
  EXPECT_EQ(begun.event, "subscribed");
  std::int64_t seen = std::stoll(begun.id);
  EXPECT_EQ(testing::parse_object(begun.data).value_or(Members())["snapshot"], begun.id);
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  const auto all = stored();
  for (std::size_t i = static_cast<std::size_t>(seen); i < all.size(); ++i) {
    const Message message = read(*stream);
    EXPECT_EQ(message.id, all[i].at("seq"));
    EXPECT_EQ(message.event, all[i].at("event"));
    EXPECT_EQ(testing::parse_object(message.data), all[i]);
  }
  // The header takes precedence over the query parameter.
  const auto resumed = ask("/api/events?since=0", fmt::format("Last-Event-ID: {}\r\n", all.size() - 2));
  EXPECT_EQ(read(*resumed).id, std::to_string(all.size() - 2));
  EXPECT_EQ(read(*resumed).id, std::to_string(all.size() - 1));
  EXPECT_EQ(read(*resumed).id, std::to_string(all.size()));
  const auto from_the_start = ask("/api/events?since=0&events=run.completed,run.failed");
  EXPECT_EQ(read(*from_the_start).event, "subscribed");
  EXPECT_EQ(read(*from_the_start).event, "run.completed");
}

TEST_F(EventMessages, invalid_requests_are_refused) {
  for (const char* target :
       {"/api/events?events=nonsense", "/api/events?events=", "/api/events?since=x", "/api/events?since=-1"}) {
    ask(target);
    EXPECT_THAT(head_, StartsWith("HTTP/1.1 400 ")) << target;
  }
  ask("/api/events?since=999999");
  EXPECT_THAT(head_, StartsWith("HTTP/1.1 409 "));
  ask("/api/events", "Last-Event-ID: AB\r\n");
  EXPECT_THAT(head_, StartsWith("HTTP/1.1 400 "));
}

TEST_F(EventMessages, client_that_never_reads_is_cut_and_resumes_without_loss) {
  const std::string workflow = write_skipped(3'000);
  const auto deaf = ask("/api/events");
  std::int64_t seen = std::stoll(read(*deaf).id);
  for (int i = 0; i < 3; ++i) make_events(workflow);
  const std::int64_t end = last();
  for (;;) {
    const Message message = read(*deaf);
    // The connection has ended, perhaps within a message.
    if (message.id.empty() || message.data.empty() || !testing::parse_object(message.data)) break;
    ASSERT_EQ(message.id, std::to_string(seen + 1));
    ++seen;
  }
  EXPECT_LT(seen, end);
  const auto again = ask("/api/events", fmt::format("Last-Event-ID: {}\r\n", seen));
  for (std::int64_t expected = seen; expected <= end; ++expected) {
    ASSERT_EQ(read(*again).id, std::to_string(expected));
  }
}

}  // namespace
}  // namespace reeve
