// SPDX-License-Identifier: MIT
// What weft predict reads, and the table that it writes: folders, patterns, standard input, CSV,
// and bad pictures among good ones. The network is untrained: its answers do not matter here.
#include <algorithm>

#include "data/picture/image.h"
#include "tests/cli/program.h"
#include "tests/cli/untrained_model.h"
#include "tests/data/picture/pictures.h"

namespace weft::test {
namespace {

class PredictInputs : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_untrained_model(folder() / "model.safetensors");
  }

  // A white sheet with a black bar at column `at`.
  void write_picture(const std::string& name, std::size_t at = 20) {
    std::vector<std::uint8_t> pixels(40 * 40, 255);
    for (std::size_t y = 8; y < 32; ++y) {
      for (std::size_t x = at; x < at + 4; ++x) pixels[40 * y + x] = 0;
    }
    fs::create_directories((folder() / name).parent_path());
    data::write_png(folder() / name, pixels, 40, 40, 1);
  }

  Outcome predict(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"predict", "model.safetensors"});
    return weft(arguments);
  }

  // The files that were read, in their order.
  std::vector<std::string> files_of(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = arguments;
    all.push_back("--json");
    const Outcome outcome = predict(all);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::vector<std::string> files;
    for (const nlohmann::json& event : json_lines(outcome.out)) files.push_back(event.at("image"));
    return files;
  }
};

using Names = std::vector<std::string>;

TEST_F(PredictInputs, ATableOnStandardOutputIsAlone) {
  write_picture("a.png");
  write_picture("b.png", 8);
  const Outcome file = predict({"a.png", "b.png", "gone.png", "--csv", "t.csv", "--top-k", "2"});
  const Outcome out =
      predict({"a.png", "b.png", "gone.png", "--csv", "-", "--top-k", "2", "--show"});
  EXPECT_EQ(out.exit_code, 3);
  EXPECT_EQ(out.out, read("t.csv"));
  EXPECT_NE(file.out, "");
  EXPECT_NE(out.err.find("1 of 3 pictures were not read"), std::string::npos) << out.err;
  EXPECT_EQ(predict({"a.png", "--csv", "-", "--json"}).exit_code, 2);
}

TEST_F(PredictInputs, ThePictureBeforeTheModelIsSaid) {
  write_picture("a.png");
  const Outcome outcome = weft({"predict", "a.png", "model.safetensors"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.err,
            "weft: error: a.png: a picture, and no model; the model comes first, then pictures\n");
}

TEST_F(PredictInputs, LinksOutOfAFolderAreSaidOrRefused) {
  write_picture("scans/a.png");
  write_picture("elsewhere/b.png");
  fs::create_symlink("a.png", folder() / "scans/again.png");
  const Outcome within = predict({"scans", "--no-links"});
  EXPECT_EQ(within.exit_code, 0) << within.err;
  EXPECT_EQ(within.err.find("link"), std::string::npos) << within.err;
  fs::create_symlink("../elsewhere/b.png", folder() / "scans/b.png");
  fs::create_symlink(folder() / "elsewhere/b.png", folder() / "scans/c.png");
  const Outcome followed = predict({"scans"});
  EXPECT_EQ(followed.exit_code, 0) << followed.err;
  EXPECT_NE(followed.err.find("weft: scans: 2 links lead out of this folder, such as b.png; "
                              "--no-links refuses them\n"),
            std::string::npos)
      << followed.err;
  for (const char* argument : {"scans", "sca*"}) {
    const Outcome refused = predict({argument, "--no-links"});
    EXPECT_EQ(refused.out, "");
    expect_error(refused, 3, "2 links lead out of this folder, such as b.png");
  }
}

TEST_F(PredictInputs, AFolderStandsForItsPictures) {
  for (const char* name : {"scans/page10.png", "scans/page9.png", "scans/B.PNG",
                           "scans/.hidden.png", "scans/deeper/c.png"}) {
    write_picture(name);
  }
  write("scans/notes.txt", "no picture, and nobody says that it is one");
  EXPECT_EQ(files_of({"scans"}),
            (Names{"scans/B.PNG", "scans/page9.png", "scans/page10.png", "scans/deeper/c.png"}));
  EXPECT_NE(predict({"scans"}).err.find("weft: scans: 4 pictures in 2 folders\n"),
            std::string::npos);
  EXPECT_EQ(files_of({"scans/deeper/", "scans/B.PNG"}),
            (Names{"scans/deeper/c.png", "scans/B.PNG"}));
  fs::create_directory(folder() / "empty");
  expect_error(predict({"empty"}), 3, "empty: no pictures in this folder");
}

TEST_F(PredictInputs, APatternThatTheShellLeft) {
  for (const char* name : {"a1.png", "a2.png", "b1.png", "[x].png"}) write_picture(name);
  EXPECT_EQ(files_of({"a*.png"}), (Names{"a1.png", "a2.png"}));
  EXPECT_EQ(files_of({"?1.png"}), (Names{"a1.png", "b1.png"}));
  EXPECT_EQ(files_of({"[ab]1.png"}), (Names{"a1.png", "b1.png"}));
  EXPECT_EQ(files_of({"[x].png"}), (Names{"[x].png"}));  // a file of that very name
  expect_error(predict({"c*.png"}), 3, "c*.png: no file has a name like this");
}

// Results on a CPU depend on its instruction set, so what pins it must not be overheard.
TEST_F(PredictInputs, TheInstructionSetIsTheOneThatIsAskedFor) {
  write_picture("a.png");
  environment_["WEFT_CPU_ISA"] = "baseline";
  const Outcome first = predict({"a.png", "--json"}), again = predict({"a.png", "--json"});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(first.out, again.out);
  environment_["WEFT_CPU_ISA"] = "avx";
  expect_error(predict({"a.png"}), 2,
               "WEFT_CPU_ISA: expected baseline, avx2 or avx512, found 'avx'");
}

TEST_F(PredictInputs, BatchInvarianceIsThereOnTheCpuAnyway) {
  write_picture("a.png");
  const Outcome plain = predict({"a.png", "--json"});
  const Outcome asked = predict({"a.png", "--json", "--batch-invariant"});
  EXPECT_EQ(asked.exit_code, 0) << asked.err;
  EXPECT_EQ(asked.out, plain.out);
  expect_error(weft({"eval", "model.safetensors", "--dataset", "digits", "--device", "cpu",
                     "--batch-invariant", "--impl", "gemm=naive"}),
               2, "--batch-invariant chooses the kernels, in fp32: it does not go with --impl");
}

TEST_F(PredictInputs, StandardInput) {
  write_picture("a.png");
  const Outcome piped = shell("cat a.png | \"$WEFT\" predict model.safetensors - a.png --json");
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  const std::vector<nlohmann::json> events = json_lines(piped.out);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].at("image"), "standard input");
  EXPECT_EQ(events[0].at("logits"), events[1].at("logits"));
  expect_error(shell("printf hello | \"$WEFT\" predict model.safetensors -"), 3,
               "standard input: not a picture");
  expect_error(predict({"-"}), 3, "standard input: empty file");
  expect_error(predict({"-", "a.png", "-"}), 2, "give it once");
  const Outcome endless = shell("cat a.png /dev/zero | \"$WEFT\" predict model.safetensors -");
  expect_error(endless, 3, "standard input: 67108865 bytes, at most 67108864 are accepted");
}

TEST_F(PredictInputs, GifAndWebP) {
  const fs::path corpus = fs::path(WEFT_TESTS_DIR) / "fuzz/picture";
  EXPECT_EQ(files_of({(corpus / "transparent.gif").string()}).size(), 1u);
  const Outcome webp = predict({(corpus / "lossless.webp").string()});
  if (data::reads_webp()) {
    EXPECT_EQ(webp.exit_code, 0) << webp.err;
  } else {
    expect_error(webp, 3, "install libwebp-dev and build it again");
  }
  expect_error(predict({(corpus / "animated.webp").string()}), 3, "animated.webp: picture of an");
}

TEST_F(PredictInputs, WhatWasLeftOutIsSaid) {
  std::vector<std::uint8_t> pixels(200 * 200, 255);
  const auto fill = [&](std::size_t left, std::size_t top, std::size_t width, std::size_t height) {
    for (std::size_t y = top; y < top + height; ++y) {
      for (std::size_t x = left; x < left + width; ++x) pixels[200 * y + x] = 0;
    }
  };
  fill(90, 60, 20, 100);
  for (std::size_t i = 0; i < 7; ++i) fill(10 + 20 * i, 20, 4, 4);
  data::write_png(folder() / "dots.png", pixels, 200, 200, 1);
  const Outcome one = predict({"dots.png"});
  EXPECT_EQ(one.err, "weft: dots.png: 7 small marks were left out\n");
  EXPECT_EQ(json_lines(predict({"dots.png", "--json"}).out).at(0).at("left_out"), 7);
  const Outcome all = predict({"dots.png", "--all"});
  EXPECT_EQ(lines_of(all.out).back(), "  7 small marks were left out");
  const auto read = json_lines(predict({"dots.png", "--all", "--json"}).out).at(0);
  EXPECT_EQ(read.at("left_out"), 7);
  ASSERT_EQ(read.at("left_out_boxes").size(), 7u);
  EXPECT_EQ(read.at("left_out_boxes").at(0).dump(), R"({"height":4,"left":10,"top":20,"width":4})");
  EXPECT_NE(predict({"dots.png", "--all", "--show"}).out, all.out);
  write_picture("clean.png");
  EXPECT_EQ(predict({"clean.png"}).err, "");
  EXPECT_EQ(json_lines(predict({"clean.png", "--json"}).out).at(0).at("left_out"), 0);
}

// The network is untrained: every class has about a tenth.
TEST_F(PredictInputs, AnAnswerBelowOneHalfIsUnsure) {
  write_picture("a.png");
  const nlohmann::json event = json_lines(predict({"a.png", "--json"}).out).at(0);
  EXPECT_LT(event.at("probability").get<double>(), 0.5);
  EXPECT_TRUE(event.at("unsure").get<bool>());
  EXPECT_NE(predict({"a.png"}).out.find("unsure; the nearest is "), std::string::npos);
  const nlohmann::json all = json_lines(predict({"a.png", "--all", "--json"}).out).at(0);
  EXPECT_TRUE(all.at("marks").at(0).at("unsure").get<bool>());
}

TEST_F(PredictInputs, SixteenBitsThatHoldTwelveAreSaidOnce) {
  Bytes rows;
  for (int y = 0; y < 40; ++y) {
    rows.push_back(0);
    for (int x = 0; x < 40; ++x) {
      const int sample = y >= 8 && y < 32 && x >= 20 && x < 24 ? 0 : 4000;
      append(rows, {static_cast<std::uint8_t>(sample >> 8), static_cast<std::uint8_t>(sample)});
    }
  }
  const PngParts parts{.width = 40, .height = 40, .depth = 16, .rows = rows};
  write_bytes(folder() / "a.png", make_png(parts));
  write_bytes(folder() / "b.png", make_png(parts));
  const Outcome outcome = predict({"a.png", "b.png"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err,
            "weft: a.png: a PNG with 16 bits a sample: its largest sample is 4000, so that white "
            "is taken to be 4095; --sample-bits says otherwise\n");
  EXPECT_EQ(predict({"a.png", "--sample-bits", "12"}).err, "");
}

TEST_F(PredictInputs, BadPicturesAreListedLast) {
  write_picture("a.png");
  write_picture("z.png");
  write("bad.png", "this is no picture");
  const Outcome outcome = predict({"bad.png", "a.png", "none.png", "z.png", "no*.gif"});
  EXPECT_EQ(outcome.exit_code, 3);
  const std::vector<std::string> answers = lines_of(outcome.out);
  ASSERT_EQ(answers.size(), 2u) << outcome.out;
  EXPECT_TRUE(answers[0].starts_with("a.png") && answers[1].starts_with("z.png")) << outcome.out;
  const std::vector<std::string> errors = lines_of(outcome.err);
  ASSERT_EQ(errors.size(), 4u) << outcome.err;
  EXPECT_EQ(errors[0], "weft: 3 of 5 pictures were not read:");
  EXPECT_TRUE(errors[1].starts_with("weft: error: bad.png: not a picture")) << errors[1];
  EXPECT_TRUE(errors[2].starts_with("weft: error: none.png: ")) << errors[2];
  EXPECT_TRUE(errors[3].starts_with("weft: error: no*.gif: no file")) << errors[3];
  // On a terminal that shows both, too.
  const Outcome mixed =
      shell("\"$WEFT\" predict model.safetensors bad.png a.png none.png z.png 2>&1");
  const std::vector<std::string> lines = lines_of(mixed.out);
  ASSERT_EQ(lines.size(), 5u) << mixed.out;
  EXPECT_TRUE(lines[1].starts_with("z.png")) << mixed.out;
}

// What the sanitizers reserve is more than any limit.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(PredictInputs, APictureThatDoesNotFitIntoMemoryIsNamed) {
  write_picture("small.png");
  write("large.pgm", "P5 7000 7000 255\n");
  fs::resize_file(folder() / "large.pgm", 7000 * 7000 + 17);
  // The least room, to 50 MB, in which a small picture is read.
  int kilobytes = 100'000;
  const auto read = [&](const std::string& pictures) {
    return shell("ulimit -v " + std::to_string(kilobytes) +
                 "; OMP_NUM_THREADS=1 \"$WEFT\" predict model.safetensors " + pictures);
  };
  while (read("small.png").exit_code != 0 && kilobytes < 5'000'000) kilobytes += 50'000;
  ASSERT_EQ(read("small.png").exit_code, 0);
  kilobytes += 100'000;  // the file fits, its pixels do not
  const Outcome large = read("small.png large.pgm");
  EXPECT_EQ(large.exit_code, 4);
  EXPECT_EQ(large.err,
            "weft: error: large.pgm: out of memory: this picture takes more than there is\n")
      << kilobytes;
}
#endif

// The name of a file may be any bytes: --json gives those that are no UTF-8 beside the text.
TEST_F(PredictInputs, NamesThatAreNotUtf8ComeBackWhole) {
  const std::string name = "a\xff\x01.png";
  write_picture(name);
  write_picture("grün.png");
  const Outcome outcome = predict({name, "grün.png", "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<nlohmann::json> events = json_lines(outcome.out);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].at("image"), "a\ufffd\x01.png");
  EXPECT_EQ(events[0].at("image_bytes"), "Yf8BLnBuZw==");
  EXPECT_EQ(events[1].at("image"), "grün.png");
  EXPECT_FALSE(events[1].contains("image_bytes"));
}

TEST_F(PredictInputs, AFormatThatIsNotReadIsNamed) {
  write("scans/a.heic", std::string("\0\0\0\x18"
                                    "ftyphevc\0\0\0\0",
                                    16));
  write("scans/b.jxl", "\xff\x0a....");
  write("scans/c.png", "%PDF-1.7\n");
  write_picture("scans/d.png");
  const Outcome outcome = predict({"scans"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(lines_of(outcome.out).size(), 1u) << outcome.out;
  for (const char* line :
       {"scans/a.heic: this is a film or a series of pictures (HEIC), which is not read",
        "scans/b.jxl: this is JPEG XL, which is not read: save it as JPEG or PNG",
        "scans/c.png: this is PDF, which is not read"}) {
    EXPECT_NE(outcome.err.find(line), std::string::npos) << outcome.err;
  }
  expect_error(weft({"histogram", "scans/a.heic"}), 3, "scans/a.heic: this is a film");
}

TEST_F(PredictInputs, CsvHoldsARowForEachFile) {
  write_picture("plain.png");
  write_picture("comma, \"quoted\".png", 10);
  write("two\nlines.png", "no picture, in a file with a bad name");
  const Outcome outcome = predict(
      {"plain.png", "comma, \"quoted\".png", "two\nlines.png", "--csv", "out.csv", "--top-k", "2"});
  EXPECT_EQ(outcome.exit_code, 3);
  const std::string csv = read("out.csv");
  EXPECT_TRUE(csv.starts_with(
      "file,label,class,probability,unsure,inverted,error,class_2,probability_2\nplain.png,"))
      << csv;
  EXPECT_NE(csv.find("\n\"comma, \"\"quoted\"\".png\","), std::string::npos) << csv;
  EXPECT_NE(csv.find("\ntwo\\nlines.png,,,,,,\"two\\nlines"), std::string::npos) << csv;
  EXPECT_TRUE(csv.ends_with("\",,\n")) << csv;
  const std::string first = lines_of(csv)[1];
  EXPECT_EQ(std::count(first.begin(), first.end(), ','), 8) << first;
  EXPECT_NE(first.find(",yes,,"), std::string::npos) << first;
  EXPECT_EQ(
      std::ranges::count_if(fs::directory_iterator(folder()),
                            [](const auto& entry) { return entry.path().extension() == ".tmp"; }),
      0);
}

TEST_F(PredictInputs, CsvNeverReplacesAPictureOrStaysHalfWritten) {
  write_picture("a.png");
  const std::string before = read("a.png");
  // The name of the table was forgotten, and the first picture stands in its place.
  expect_error(predict({"--csv", "a.png", "a.png"}), 2, "--csv: expected a name ending in .csv");
  EXPECT_TRUE(read("a.png") == before);
  expect_error(predict({"a.png", "--csv", "none/out.csv"}), 3, "--csv: there is no folder none");
  write("out.csv", "old");
  // Answers that are certain, and so short.
  models::Model certain = untrained_model();
  certain.info.calibration = {.temperature = 1e-6, .threshold = -1e300, .images = 1};
  models::write_safetensors(folder() / "model.safetensors", models::model_content(certain));
  std::vector<std::string> many(100, "a.png");  // 27 bytes each in the table, 17 on stdout
  many.insert(many.end(), {"--csv", "out.csv"});
  file_size_limit_ = 2100;
  expect_error(predict(many), 3, "out.csv");
  file_size_limit_ = 0;
  EXPECT_EQ(read("out.csv"), "old");
}

}  // namespace
}  // namespace weft::test
