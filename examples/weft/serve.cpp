// SPDX-License-Identifier: MIT
// weft serve: a page to draw on, which shows what a trained model makes of each stroke.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "distributed/run_token.h"
#include "engine/error.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/input/interrupt.h"
#include "examples/weft/input/normalisation.h"
#include "examples/weft/input/picture_model.h"
#include "examples/weft/output/terminal.h"
#include "examples/weft/serve/server.h"

namespace weft::cli {
namespace {

struct ServeFlags {
  std::string model;
  std::int64_t port = 8080;
  bool token = false;
};

int run_serve(const ServeFlags& flags) {
  const models::Model model = load_picture_model(flags.model);
  if (takes_whole_pictures(model.info)) {
    throw Error(ErrorKind::usage,
                fmt::format("{} takes pictures whole, as models in colour and of data of your own "
                            "do; the page is for drawn digits, and {} predict reads pictures",
                            flags.model, program_name()));
  }
  notice_assumption(model.info, flags.model);
  Reader reader(model, assumption_of(model.info, flags.model));
  constexpr std::size_t kTokenDigits = 32;  // of 4 bits each
  const std::string token =
      flags.token ? distributed::RunToken::draw_text().substr(0, kTokenDigits) : "";
  serve(reader, static_cast<int>(flags.port), token, catch_interrupts(""), [&](int port) {
    write_out(
        fmt::format("Draw a digit at http://127.0.0.1:{}/{}{} in a browser. Ctrl-C ends this.\n",
                    port, token, flags.token ? "/" : ""));
  });
  return 0;
}

}  // namespace

void add_serve(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* sub = app.add_subcommand(
      "serve", "Draw digits in a browser, and watch every layer of a model read them");
  add_model(*sub, flags->model);
  add_whole(*sub, "--port", flags->port, 0, 65535,
            "port of the loopback address; 0: any free one, which is printed")
      ->capture_default_str();
  sub->add_flag("--token", flags->token,
                "a secret in the address, which other users of this machine do not know");
  sub->callback([flags, &action] { action.run = [flags] { return run_serve(*flags); }; });
}

}  // namespace weft::cli
