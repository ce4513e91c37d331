// SPDX-License-Identifier: MIT
// weft completion and weft man: the scripts, as bash, fish and zsh load them, and the manual page.
#include <algorithm>
#include <map>
#include <regex>

#include "tests/cli/manual.h"
#include "tests/cli/program.h"

namespace weft::test {
namespace {

// What bash offers after `words`, the last of which is begun.
class Completion : public ProgramTest {
 protected:
  std::vector<std::string> offered(const std::string& words) {
    const Outcome outcome = shell("source <(\"$WEFT\" completion bash); COMP_WORDS=(weft " + words +
                                  "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _weft; printf '%s\\n' "
                                  "\"${COMPREPLY[@]}\"");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return lines_of(outcome.out);
  }
};

TEST_F(Completion, BashOffersCommandsFlagsAndChoices) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(offered("tr"), Words{"train"});
  EXPECT_EQ(offered("kernel sh"), Words{"show"});
  EXPECT_EQ(offered("train --weight"), Words{"--weight-decay"});
  EXPECT_EQ(offered("train --lr-schedule co"), (Words{"constant", "cosine"}));
  EXPECT_EQ(offered("train --lr-schedule = co"), (Words{"constant", "cosine"}));
  EXPECT_EQ(offered("train --lr-schedule ="), (Words{"constant", "step", "cosine", "one-cycle"}));
  EXPECT_EQ(offered("bench train --see"), Words{"--seeds"});  // not those of weft train
  EXPECT_EQ(offered("bench train --epo"), Words{""});
  EXPECT_EQ(offered("train --json --weight"), Words{"--weight-decay"});  // a flag takes no value
  EXPECT_EQ(offered("train --config a"), Words{""});                     // then bash offers files
}

TEST_F(Completion, BashOffersNamesOfModelsSetsRecipesAndKernels) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(offered("train --model mlp"), Words{"mlp"});
  EXPECT_EQ(offered("train --model lenet"), (Words{"lenet5", "lenet5-classic"}));
  EXPECT_EQ(offered("train --recipe acc"), Words{"accurate"});
  EXPECT_EQ(offered("train --dataset fash"), Words{"fashion-mnist"});
  EXPECT_EQ(offered("kernel show ge"), Words{"gemm"});
  EXPECT_EQ(offered("kernel run gemm/til"),
            (Words{"gemm/tiled_16", "gemm/tiled_32", "gemm/tiled"}));
  EXPECT_EQ(offered("bench transp"), Words{"transpose"});
}

TEST_F(Completion, BashOffersFilesByKind) {
  for (const char* file : {"model.safetensors", "mine.net", "notes.txt", "Photo.JPG"}) {
    write(file, "");
  }
  fs::create_directory(folder() / "more");
  const auto sorted = [&](const std::string& words) {
    std::vector<std::string> found = offered(words);
    std::ranges::sort(found);
    return found;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(sorted("predict m"), (Words{"model.safetensors", "more"}));
  EXPECT_EQ(sorted("predict model.safetensors P"), Words{"Photo.JPG"});
  EXPECT_EQ(sorted("predict model.safetensors n"), Words{""});
  EXPECT_EQ(sorted("train --model m"), (Words{"mine.net", "mlp", "more"}));
  EXPECT_EQ(sorted("train --data-dir m"), Words{"more"});
  EXPECT_EQ(sorted("train --config n"), Words{""});  // then bash offers any file
}

// The scripts as shells themselves read them.
class Shells : public ProgramTest {
 protected:
  // Flags that take one of some words, as they are typed: {" kernel warps --branch",
  // {"row>col"...}}.
  std::map<std::string, std::vector<std::string>> flags_with_words() {
    std::map<std::string, std::vector<std::string>> flags;
    for (const ManualFlag& flag : flags_of_manual(weft({"man"}).out)) {
      if (!flag.words.empty()) flags[" " + flag.command + " " + flag.name] = flag.words;
    }
    return flags;
  }

  Outcome run(const std::string& shell_name, const std::string& script) {
    write("script", script);
    return shell("/usr/bin/" + shell_name + (shell_name == "zsh" ? " -f" : " --no-config") +
                 " script");
  }
  static bool is_installed(const std::string& name) { return fs::exists("/usr/bin/" + name); }
};

TEST_F(Shells, TheManualPageHasFlagsWithWords) {
  const auto flags = flags_with_words();
  EXPECT_GT(flags.size(), 20u);
  EXPECT_EQ(flags.at(" kernel warps --branch").size(), 4u);
  EXPECT_EQ(flags.at(" train --optimizer"), (std::vector<std::string>{"sgd", "adamw"}));
}

TEST_F(Shells, BashOffersEveryWordOfAFlag) {
  std::string script = "source <(\"$WEFT\" completion bash)\n";
  for (const auto& [flag, words] : flags_with_words()) {
    script += "COMP_WORDS=(weft" + flag + " ''); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _weft\n" +
              "eval \"printf '%s|' ${COMPREPLY[*]}\"; echo\n";
  }
  const Outcome outcome = shell(script);
  EXPECT_EQ(outcome.err, "");
  const std::vector<std::string> lines = lines_of(outcome.out);
  std::size_t i = 0;
  for (const auto& [flag, words] : flags_with_words()) {
    std::string expected;
    for (const std::string& word : words) expected += word + "|";
    ASSERT_LT(i, lines.size());
    EXPECT_EQ(lines[i++], expected) << flag;
  }
}

TEST_F(Shells, FishLoadsItsScriptAndOffersEveryWordOfAFlag) {
  if (!is_installed("fish")) GTEST_SKIP() << "fish is not installed";
  const auto flags = flags_with_words();
  std::string script = "$WEFT completion fish | source\n";
  for (const std::string line : {"kernel sh", "train --lr-schedule co", "bench train --se"}) {
    script += "complete -C 'weft " + line + "'\n";
  }
  for (const auto& [flag, words] : flags) {
    script += "echo\ncomplete -C 'weft" + flag + " ' | string split -f1 \\t\n";
  }
  const Outcome outcome = run("fish", script);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* part : {"show\t", "constant\t", "cosine\t", "--seeds\t"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  }
  std::size_t at = outcome.out.find("\n\n");
  for (const auto& [flag, words] : flags) {
    ASSERT_NE(at, outcome.out.npos);
    const std::size_t end = outcome.out.find("\n\n", at + 1);
    const std::string offered = outcome.out.substr(at + 1, end - at);
    at = end;
    for (const std::string& word : words) {
      EXPECT_NE(offered.find("\n" + word + "\n"), std::string::npos)
          << flag << " " << word << ":" << offered;
    }
  }
}

// zsh completes only in a terminal: one is made, in which the words but for their last letters are
// typed, then Tab, then a key that notes the line.
TEST_F(Shells, ZshLoadsItsScriptAndCompletesEveryWordOfAFlag) {
  if (!is_installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  std::string typed;
  std::vector<std::string> expected;
  for (const auto& [flag, words] : flags_with_words()) {
    for (const std::string& word : words) {
      const std::string begun = word.substr(0, word.size() - 1);
      if (begun.empty() || begun.find_first_of(">%<=&|") != begun.npos) continue;
      if (std::ranges::count_if(words, [&](auto& other) { return other.starts_with(begun); }) > 1) {
        continue;
      }
      typed += "weft" + flag + " " + begun + "\n";
      expected.push_back("weft" + flag + " " + word + " ");
    }
  }
  for (const char* line :
       {"weft kernel sho", "weft bench train --seed", "weft kernel warps --branch row"}) {
    typed += std::string(line) + "\n";
  }
  expected.insert(
      expected.end(),
      {"weft kernel show ", "weft bench train --seeds=", "weft kernel warps --branch row\\>col "});
  write("typed", typed);
  for (const bool as_file : {false, true}) {  // of a folder for completions, or loaded by hand
    SCOPED_TRACE(as_file);
    const std::string load =
        as_file ? "fpath+=(functions); autoload -Uz compinit; compinit -u -D"
                : "autoload -Uz compinit; compinit -u -D; source <($WEFT completion zsh)";
    fs::create_directories(folder() / "functions");
    write("functions/_weft", as_file ? weft({"completion", "zsh"}).out : "");
    fs::remove(folder() / "completed");
    const Outcome outcome = run(
        "zsh",
        "zmodload zsh/zpty && zpty shell /usr/bin/zsh -f -i || exit 1\n"
        "zpty -w shell 'PS1=; " +
            load +
            "; note() { print -r -- \"$BUFFER\" >>completed; BUFFER=; }; '\\\n"
            "'zle -N note; bindkey \"^I\" complete-word; bindkey \"^X\" note; print rea\"\"dy'\n"
            "zpty -r shell answer '*ready*' || exit 2\n"
            "zpty -n -w shell $'weft \\t\\x18'\n"
            "while read -r line; do zpty -n -w shell \"$line\"$'\\t\\x18'; done <typed\n"
            "zpty -w shell $'print en\"\"ded'; zpty -r shell answer '*ended*'; print -r -- "
            "$answer\n");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    std::vector<std::string> completed = lines_of(read("completed"));
    ASSERT_FALSE(completed.empty()) << outcome.out;
    completed.erase(completed.begin());  // the first one has no single answer
    EXPECT_EQ(completed, expected) << outcome.out;
  }
}

// What zsh and fish themselves would read, where they are not installed too.
TEST_F(Completion, EveryShellHearsOfEveryCommandAndItsFlags) {
  const std::string zsh = weft({"completion", "zsh"}).out, fish = weft({"completion", "fish"}).out;
  for (const char* part :
       {"#compdef weft\n", "_weft_kernel_show() {\n", "'--lr-schedule=[", ":value:(constant step ",
        "'--config=[", ":value:_files'", "'scan:", "compdef _weft weft; fi\n"}) {
    EXPECT_NE(zsh.find(part), std::string::npos) << part;
  }
  for (const char* part :
       {"complete -c weft -n \"__weft_at ' kernel'\" -f -a show -d '",
        " -l lr-schedule -x -a 'constant step ", " -l config -r -d '", "and set path"}) {
    EXPECT_NE(fish.find(part), std::string::npos) << part;
  }
}

TEST_F(Completion, TheManualPageTellsEveryCommandAndFlag) {
  const Outcome page = weft({"man"});
  ASSERT_EQ(page.exit_code, 0) << page.err;
  for (const char* part : {".TH WEFT 1", ".SS \"weft\\& kernel show\"", "\\-\\-val\\-split",
                           ".SH EXIT STATUS", "weft scan lengths.npy"}) {
    EXPECT_NE(page.out.find(part), std::string::npos) << part;
  }
  if (!fs::exists("/usr/bin/groff")) GTEST_SKIP() << "groff is not installed";
  write("weft.1", page.out);
  const Outcome shown = shell("PATH=/usr/bin:/bin groff -ww -k -man -Tutf8 weft.1");
  EXPECT_EQ(shown.err, "");
  const std::string words = std::regex_replace(shown.out, std::regex("\\s+"), " ");
  EXPECT_NE(words.find("passes over the data"), std::string::npos);
}

}  // namespace
}  // namespace weft::test
