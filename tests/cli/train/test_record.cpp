// SPDX-License-Identifier: MIT
// weft train: what a run tells of how it came about.
#include <regex>

#include "models/model.h"
#include "tests/cli/program.h"

namespace weft::test {
namespace {

class Record : public ProgramTest {
 protected:
  nlohmann::json json_of(const std::string& file) { return nlohmann::json::parse(read(file)); }
};

TEST_F(Record, EveryCommandThatWorkedOnARunIsTold) {
  environment_["OMP_NUM_THREADS"] = "1";
  ASSERT_EQ(train_small("it's", {"--stop-after", "1", "--lr-schedule", "constant"}).exit_code, 0);
  const Outcome rest = weft({"train", "--resume", "it's", "--device", "cpu", "--epochs", "4"});
  ASSERT_EQ(rest.exit_code, 0) << rest.err;

  const nlohmann::json state = json_of("it's/state.json");
  const nlohmann::json sessions = state.at("sessions");
  ASSERT_EQ(sessions.size(), 2u) << state;
  const auto build = nlohmann::json::parse(weft({"doctor", "--versions", "--json"}).out);
  for (const nlohmann::json& session : sessions) {
    const auto command = session.at("command").get<std::string>();
    EXPECT_NE(command.find("OMP_NUM_THREADS=1 "), std::string::npos) << command;
    EXPECT_NE(command.find("'it'\\''s'"), std::string::npos) << command;
    EXPECT_TRUE(std::regex_match(session.at("started").get<std::string>(),
                                 std::regex(R"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ)")));
    EXPECT_EQ("weft " + session.at("version").get<std::string>() + "\n", weft({"--version"}).out);
    EXPECT_EQ(session.at("commit"), build.at("commit"));
    EXPECT_EQ(session.at("commit_date"), build.at("commit_date"));
    EXPECT_NE(session.at("host"), "");
    EXPECT_NE(session.at("device").get<std::string>().find("cpu ("), std::string::npos);
    EXPECT_EQ(session.at("threads"), 1);
    EXPECT_GT(session.at("training_seconds").get<double>(), 0);
    EXPECT_GE(session.at("seconds").get<double>(), session.at("training_seconds").get<double>());
    EXPECT_NEAR(session.at("images_per_second").get<double>(),
                session.at("images").get<double>() / session.at("training_seconds").get<double>(),
                1e-6 * session.at("images_per_second").get<double>());
  }
  // Three epochs came with the second one, of as many images each.
  EXPECT_GT(sessions[0].at("images").get<std::int64_t>(), 1000);
  EXPECT_EQ(sessions[1].at("images").get<std::int64_t>(),
            3 * sessions[0].at("images").get<std::int64_t>());
}

TEST_F(Record, AModelTellsWhatTheSameCommandMakesAgain) {
  ASSERT_EQ(train_small("run", {"--momentum", "0.8", "--label-smoothing", "0.1"}).exit_code, 0);
  const models::Origin origin = models::load_model(folder() / "run").info.origin;
  EXPECT_EQ("weft " + origin.version + "\n", weft({"--version"}).out);
  const auto build = nlohmann::json::parse(weft({"doctor", "--versions", "--json"}).out);
  EXPECT_EQ(origin.commit, build.at("commit"));
  EXPECT_EQ(origin.commit_date, build.at("commit_date"));
  EXPECT_EQ(origin.data, json_of("run/state.json").at("data"));
  const auto has = [&](const char* name, const char* value) {
    return std::count(origin.settings.begin(), origin.settings.end(),
                      std::pair<std::string, std::string>(name, value));
  };
  EXPECT_EQ(has("momentum", "0.8"), 1);
  EXPECT_EQ(has("label_smoothing", "0.1"), 1);
  EXPECT_EQ(has("batch_size", "32"), 1);
  for (const auto& [name, value] : origin.settings) {
    EXPECT_FALSE(name == "seed" || name == "nesterov") << name << " is the default";
  }
  const nlohmann::json inspected = nlohmann::json::parse(weft({"inspect", "run", "--json"}).out);
  EXPECT_EQ(inspected.at("origin").dump(), json_of("run/config.json").at("origin").dump());
  EXPECT_EQ(inspected.at("origin").at("settings").at("momentum"), 0.8);
  const std::string text = weft({"inspect", "run"}).out;
  EXPECT_NE(text.find("Weft " + origin.version), std::string::npos) << text;
  EXPECT_NE(text.find("momentum 0.8"), std::string::npos) << text;

  // A config.json with its origin is a --config as before.
  const Outcome again =
      weft({"train", "--config", "run/config.json", "--device", "cpu", "--out", "again"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(read("again/model.safetensors") == read("run/model.safetensors"));
}

TEST_F(Record, ThePageShowsCommandsRatesAndSettings) {
  ASSERT_EQ(train_small("run", {"--stop-after", "1", "--log-every", "10"}).exit_code, 0);
  ASSERT_EQ(weft({"train", "--resume", "run", "--device", "cpu"}).exit_code, 0);
  const std::string page = read("run/report.html");
  const nlohmann::json state = json_of("run/state.json");
  for (const std::string& part :
       {std::string("The commands"), std::string("--limit-train 3000"),
        std::string("train --resume run"), std::string("Learning rate by step"),
        std::string("<th>schedule.peak</th>"), "checksum " + state.at("data").get<std::string>(),
        "<td>" + state.at("sessions")[0].at("host").get<std::string>() + "</td>"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  const std::string commands = page.substr(page.find("The commands"));
  for (const nlohmann::json& session : state.at("sessions")) {
    const auto row = [&](const std::string& name, const std::string& value) {
      const std::regex sought("<th>" + name + "</th><td>" + value + "</td>");
      EXPECT_TRUE(std::regex_search(commands, sought)) << name << " " << value;
    };
    row("begun", session.at("started"));
    row("took", "[0-9.:]+( m?s)?");
    row("images per second", "[1-9][0-9, ]*");
    const auto commit = session.at("commit").get<std::string>();  // "+" behind it: with changes
    const std::string built = "<th>Weft</th><td>" + session.at("version").get<std::string>() +
                              (commit.empty() ? "" : " (commit " + commit + " of ");
    EXPECT_NE(commands.find(built), std::string::npos) << built;
  }
}

}  // namespace
}  // namespace weft::test
