// SPDX-License-Identifier: MIT
// weft with data of the user's own: training, answers with the names of folders, and odd input.
#include "tests/cli/program.h"
#include "tests/data/picture_folder.h"
#include "tests/data/trees/archives.h"

namespace weft::test {
namespace {

class OwnData : public ProgramTest {
 protected:
  // Bright and dark pictures of 6 x 6, a tenth of which stays behind for the test.
  void write_easy_pictures(const std::string& name) {
    write_class(folder() / name / "dark blue", 40, 0, 6, 6);
    write_class(folder() / name / "grün", 40, 200, 6, 6);
  }
  std::vector<std::string> training(const std::string& data, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"train", "--data", data,  "--device", "cpu", "--progress",
                                          "off",   "--out",  "run", "--model",  "mlp"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  // One line, the documented code, and nothing written.
  void expect_refused(const std::vector<std::string>& arguments, int code,
                      const std::string& part) {
    SCOPED_TRACE(part);
    expect_error(weft(arguments), code, part);
    EXPECT_FALSE(fs::exists(folder() / "run"));
    EXPECT_FALSE(fs::exists(folder() / "runs"));
  }
  void expect_bad_folder(const std::string& name, const std::string& part) {
    expect_refused(training(name), 3, part);
  }
  void make(const std::string& name) { fs::create_directories(folder() / name); }
};

TEST_F(OwnData, TrainsEvaluatesAndAnswersWithTheNamesOfTheFolders) {
  write_easy_pictures("my pictures");
  const Outcome trained =
      weft(training("my pictures", {"--epochs", "30", "--fit", "crop", "--json"}));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const std::vector<nlohmann::json> events = json_lines(trained.out);
  EXPECT_EQ(events.front().at("dataset"), "my pictures");
  EXPECT_EQ(events.front().at("train_images"), 65);  // of 80: 8 test, 7 validate
  EXPECT_EQ(events.front().at("held_out_images"), 7);
  EXPECT_EQ(events.front().at("test_images"), 8);
  EXPECT_EQ(events.back().at("test_accuracy"), 1.0);
  EXPECT_TRUE(fs::exists(folder() / "run/best.safetensors"));

  write_flat_png(folder() / "new.png", {220, 220, 220}, 60, 20);  // cropped, as in training
  const Outcome answer = weft({"predict", "run", "new.png", "--json"});
  EXPECT_EQ(json_lines(answer.out).at(0).at("class"), "grün") << answer.err;
  const Outcome inverted = weft({"predict", "run", "new.png", "--json", "--invert", "yes"});
  EXPECT_EQ(json_lines(inverted.out).at(0).at("class"), "dark blue");
  expect_error(weft({"predict", "run", "new.png", "--preprocess", "mnist"}), 2, "6 x 6");
  expect_error(weft({"serve", "run"}), 2, "predict reads pictures");

  const Outcome text = weft({"eval", "run", "--data", "my pictures", "--confusion", "--per-class"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("dark blue"), std::string::npos) << text.out;
  EXPECT_NE(read("run/report.html").find("grün"), std::string::npos);
  expect_error(weft({"eval", "run"}), 2, "say where with --data DIR");

  // Other pictures: all of them, and with fewer classes than the model has.
  write_class(folder() / "later/test/grün", 5, 220);
  write_class(folder() / "later/train/grün", 1, 220);
  write_class(folder() / "later/train/dark blue", 1, 0);
  const Outcome later = weft({"eval", "run", "--data", "later", "--json"});
  EXPECT_EQ(json_lines(later.out).at(0).at("images"), 5) << later.err;
  EXPECT_EQ(json_lines(later.out).at(0).at("accuracy"), 1.0);
  const Outcome all = weft({"eval", "run", "--data", "my pictures", "--all-pictures", "--json"});
  EXPECT_EQ(json_lines(all.out).at(0).at("images"), 80);
  write_easy_pictures("others");
  write_class(folder() / "others/red", 5);
  expect_error(weft({"eval", "run", "--device", "cpu", "--data", "others"}), 3,
               "the model knows no class red");
}

TEST_F(OwnData, ExportedDigitsTrainAsTheGeneratedOnes) {
  ASSERT_EQ(weft({"data", "export", "digits", "--limit", "2000", "--out", "pictures"}).exit_code,
            0);
  const std::vector<std::string> recipe = {"--device",   "cpu",           "--epochs",    "6",
                                           "--progress", "off",           "--val-split", "0.1",
                                           "--json",     "--limit-train", "2000"};
  const auto accuracy = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), recipe.begin(), recipe.end());
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.exit_code == 0 ? json_lines(outcome.out).back().at("test_accuracy").get<double>()
                                  : 0.0;
  };
  const double generated = accuracy({"train", "--dataset", "digits", "--out", "a"});
  const double exported = accuracy({"train", "--data", "pictures", "--out", "b"});
  EXPECT_GT(generated, 0.8);
  EXPECT_NEAR(exported, generated, 0.04);  // the order differs; 2 000 test pictures: 0.7 % of error
  expect_error(weft({"data", "export", "digits", "--out", "pictures"}), 3, "exists already");
  expect_error(weft({"data", "export", "digit", "--out", "x"}), 2, "did you mean 'digits'?");
}

TEST_F(OwnData, ValidationPicturesOfTheUserChooseTheBestEpoch) {
  write_class(folder() / "d/train/a", 20, 0);
  write_class(folder() / "d/train/b", 20, 200);
  for (const char* set : {"test", "val"}) {
    write_class(folder() / "d" / set / "a", 4, 20);
    write_class(folder() / "d" / set / "b", 6, 220);
  }
  const Outcome outcome = weft(training("d", {"--epochs", "2", "--json"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<nlohmann::json> events = json_lines(outcome.out);
  EXPECT_EQ(events.front().at("train_images"), 40);
  EXPECT_EQ(events.front().at("held_out_images"), 10);
  EXPECT_EQ(events.front().at("test_images"), 10);
  EXPECT_EQ(events.at(1).at("validation").at("images"), 10);
  fs::remove_all(folder() / "run");
  expect_refused(training("d", {"--val-split", "0.2"}), 2, "has its own validation pictures");
}

// Tables, arrays and what lies in an archive come to the device batch by batch as pictures do.
TEST_F(OwnData, TablesArraysAndArchivesStreamWithTheSameBits) {
  ASSERT_EQ(weft({"data", "export", "digits", "--limit", "60", "--out", "png"}).exit_code, 0);
  for (const char* format : {"csv", "npz", "idx"}) {
    ASSERT_EQ(weft({"data", "convert", "png", format, "--as", format}).exit_code, 0);
  }
  std::vector<std::string> data = {"png", "csv", "idx"};
#ifdef WEFT_WITH_LIBARCHIVE
  ArchiveMembers members;
  for (const auto& entry : fs::directory_iterator(folder() / "csv")) {
    const std::string name = entry.path().filename().string();
    const std::string text = read("csv/" + name);
    members.push_back({"digits/" + name, Bytes(text.begin(), text.end())});
  }
  write_bytes(folder() / "digits.zip", zip_of(members));
  for (const auto& entry : fs::recursive_directory_iterator(folder() / "npz")) {
    if (entry.path().extension() == ".npz") data.push_back(entry.path().string());
  }
  data.insert(data.end(), {"digits.zip"});
  EXPECT_EQ(data.size(), 5u);
#endif
  for (const std::string& from : data) {
    SCOPED_TRACE(from);
    const auto trained = [&](const std::vector<std::string>& more) {
      std::vector<std::string> arguments =
          training(from, {"--epochs", "1", "--json", "--impl", "fuse=off"});
      arguments.insert(arguments.end(), more.begin(), more.end());
      const Outcome outcome = weft(arguments);
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
      const std::string model = read("run/model.safetensors");
      fs::remove_all(folder() / "run");
      return std::pair(json_lines(outcome.out).front().at("streams_images").get<bool>(), model);
    };
    const auto whole = trained({}), streamed = trained({"--device-data-limit", "10K"});
    EXPECT_FALSE(whole.first);
    EXPECT_TRUE(streamed.first);
    EXPECT_FALSE(whole.second.empty());
    EXPECT_TRUE(whole.second == streamed.second);
    // What does not fit into the host's memory is in a file, also what the cache has of pictures.
    environment_["WEFT_HOST_DATA_LIMIT"] = "10K";
    for (const auto& more : {std::vector<std::string>{}, {"--no-cache"}}) {
      const auto from_file = trained(from == "png" ? more : std::vector<std::string>{});
      EXPECT_TRUE(from_file.first);
      EXPECT_TRUE(whole.second == from_file.second);
    }
    file_size_limit_ = 20'000;  // bytes, fewer than its pixels
    expect_refused(training(from, {}), 3, "do not fit into memory");
    file_size_limit_ = 0;
    environment_.erase("WEFT_HOST_DATA_LIMIT");
  }
}

TEST_F(OwnData, GoesOnWithTheSamePicturesOnly) {
  write_easy_pictures("d");
  ASSERT_EQ(weft(training("d", {"--epochs", "4", "--stop-after", "2"})).exit_code, 0);
  EXPECT_EQ(weft({"train", "--resume", "run", "--stop-after", "3"}).exit_code, 0);
  expect_error(weft({"train", "--resume", "run", "--fit", "crop"}), 2, "--fit cannot be combined");
  fs::rename(folder() / "d", folder() / "moved");
  expect_error(weft({"train", "--resume", "run", "--device", "cpu"}), 3, "there is no folder d");
  EXPECT_EQ(weft({"train", "--resume", "run", "--data", "moved", "--stop-after", "4"}).exit_code, 2)
      << "the data set has another name";
  make("other");
  fs::rename(folder() / "moved", folder() / "other/d");
  EXPECT_EQ(weft({"train", "--resume", "run", "--data", "other/d", "--stop-after", "4"}).exit_code,
            0);
  write_flat_png(folder() / "other/d/grün/more.png", {201, 201, 201}, 6, 6);
  expect_error(weft({"train", "--resume", "run", "--device", "cpu", "--data", "other/d"}), 2,
               "was trained on d");
}

TEST_F(OwnData, InfoAndDryRunTellWhatIsThere) {
  write_easy_pictures("d");
  const std::vector<nlohmann::json> info =
      json_lines(weft({"data", "info", "--data", "d", "--json"}).out);
  ASSERT_EQ(info.size(), 1u);
  EXPECT_EQ(info[0].at("height"), 6);
  EXPECT_EQ(info[0].at("channels"), 1);
  EXPECT_EQ(info[0].at("classes")[1].at("class"), "grün");
  EXPECT_EQ(info[0].at("classes")[1].at("train"), 36);
  EXPECT_NE(weft({"data", "info", "--data", "d"}).out.find("dark blue"), std::string::npos);
  const Outcome plan = weft(training("d", {"--dry-run", "--json", "--image-size", "20x10"}));
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_EQ(json_lines(plan.out).at(0).at("bytes").at("images"), 72 * 200);
  EXPECT_FALSE(fs::exists(folder() / "run"));
  EXPECT_TRUE(fs::exists(folder() / ".cache/weft"));
  fs::remove_all(folder() / ".cache");
  EXPECT_EQ(weft({"data", "info", "--data", "d", "--no-cache"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(folder() / ".cache"));
}

TEST_F(OwnData, SetsAndWrappingsOfOthersAreRead) {
  for (const char* set : {"zip/photos/Training/", "zip/photos/Testing/"}) {
    for (const char* name : {"cat", "dog"}) write_class(folder() / set / name, 6);
  }
  write("zip/__MACOSX/photos/._Training", "x");
  const Outcome info = weft({"data", "info", "--data", "zip", "--json"});
  ASSERT_EQ(info.exit_code, 0) << info.err;
  const nlohmann::json event = json_lines(info.out).at(0);
  EXPECT_EQ(event.at("classes").size(), 2u);
  EXPECT_EQ(event.at("train_images"), 12);
  EXPECT_EQ(event.at("test_images"), 12);
  EXPECT_EQ(info.err,
            "weft: passed over the folder __MACOSX, which is hidden or a program's own\n"
            "weft: entered photos/, the only folder in zip\n"
            "weft: 2 of 2 classes have fewer than 10 training images: cat 6, dog 6\n");
}

// Folders that others gave, where they are at hand.
TEST_F(OwnData, FoldersFromOutside) {
  const fs::path cases = fs::path(WEFT_SOURCE_DIR) / "../shared/cases/interop";
  if (!fs::exists(cases)) return;
  const std::vector<std::pair<const char*, std::array<int, 2>>> folders = {
      {"data-Train-Test", {24, 6}},
      {"data-train-valid", {24, 6}},
      {"data-train-validation", {24, 6}},
      {"data-one-folder-down", {24, 6}},
      {"data-macosx-zip", {22, 2}}};
  for (const auto& [name, counts] : folders) {
    SCOPED_TRACE(name);
    const Outcome info = weft({"data", "info", "--data", (cases / name).string(), "--json"});
    ASSERT_EQ(info.exit_code, 0) << info.err;
    const nlohmann::json event = json_lines(info.out).at(0);
    EXPECT_EQ(event.at("classes").at(0).at("class"), "cat");
    EXPECT_EQ(event.at("classes").at(1).at("class"), "dog");
    EXPECT_EQ(event.at("train_images"), counts[0]);
    EXPECT_EQ(event.at("test_images"), counts[1]);
  }
  const std::vector<std::pair<const char*, std::array<int, 3>>> files = {
      {"data-csv-kaggle", {18, 2, 2}},
      {"data-npz-keras", {20, 6, 2}},
      {"data-emnist-letters", {26, 26, 26}},
      {"data-torchvision-root", {20, 6, 2}}};
  for (const auto& [name, counts] : files) {
    SCOPED_TRACE(name);
    const Outcome info = weft({"data", "info", "--data", (cases / name).string(), "--json"});
    ASSERT_EQ(info.exit_code, 0) << info.err;
    const nlohmann::json event = json_lines(info.out).at(0);
    EXPECT_EQ(event.at("train_images"), counts[0]);
    EXPECT_EQ(event.at("test_images"), counts[1]);
    EXPECT_EQ(event.at("classes").size(), counts[2]);
  }
}

TEST_F(OwnData, OddFoldersAreRefusedInOneLine) {
  expect_bad_folder("nowhere", "there is no folder nowhere");
  write("file", "text");
  expect_bad_folder("file", "file: no rows below the header");
  write("program", std::string("ELF\0", 4));
  expect_bad_folder("program", "program: not text: expected CSV");
  make("empty");
  expect_bad_folder("empty", "empty: no folders in it");
  write("texts/a.txt", "text");
  expect_bad_folder("texts",
                    "texts holds a.txt alone: expected a folder of pictures for each class");
  write_class(folder() / "one/cat", 3);
  expect_bad_folder("one", "one class only, cat");
  write_class(folder() / "hollow/cat", 3);
  make("hollow/dog");
  expect_bad_folder("hollow", "hollow/dog: no pictures");
  write("hidden/cat/.a.png", "x");
  write_class(folder() / "hidden/dog", 3);
  expect_bad_folder("hidden", "hidden/cat: no pictures");
  write_class(folder() / "latin/caf\xe9", 3);
  write_class(folder() / "latin/tea", 3);
  expect_bad_folder("latin", "not UTF-8");
  write_class(folder() / "lonely/a", 1);
  write_class(folder() / "lonely/b", 1);
  expect_bad_folder("lonely", "one picture in each class");
  write_class(folder() / "half/test/a", 2);
  expect_bad_folder("half", "holds test/ with folders, but no train/");
  write_class(folder() / "more/train/a", 2);
  write_class(folder() / "more/train/b", 2);
  write_class(folder() / "more/test/c", 2);
  expect_bad_folder("more", "there is no class c in train/");
  write_class(folder() / "bare/train/a", 2);
  write_class(folder() / "bare/train/b", 2);
  make("bare/val/a");
  expect_bad_folder("bare", "bare/val: no pictures in it");
  for (int i = 0; i < 20'000; ++i) make("many/" + std::to_string(i));
  expect_bad_folder("many", "more than 4096 folders");
  make("loop");
  fs::create_directory_symlink(".", folder() / "loop/a");
  fs::create_directory_symlink("..", folder() / "loop/b");
  fs::create_symlink("self", folder() / "self");
  expect_bad_folder("self", "there is no folder self");
}

TEST_F(OwnData, OddPicturesAreRefusedInOneLine) {
  write_easy_pictures("d");
  const std::pair<const char*, std::string> pictures[] = {
      {"empty.png", ""},
      {"text.jpg", "this is text"},
      {"cut.png", read("d/grün/0.png").substr(0, 40)},
      {"signature.png", "\x89PNG\r\n\x1a\n"},
      {"start.jpeg", "\xff\xd8\xff\xe0"},
      {"wide.pgm", "P5 9999 1 255\n" + std::string(9999, 'x')},
      {"short.ppm", "P6 4 4 255\nabc"},
      {"none.bmp", "BM"},
      {"half.gif", "GIF89a\4"},
      {"riff.webp", "RIFF....WEBP"}};
  for (const auto& [name, bytes] : pictures) {
    write(std::string("d/grün/") + name, bytes);
    expect_bad_folder("d", std::string("d/grün/") + name);
    fs::remove(folder() / "d/grün" / name);
  }
  fs::create_symlink("nowhere", folder() / "d/grün/gone.png");
  expect_bad_folder("d", "gone.png: cannot be opened (No such file or directory)");
  fs::remove(folder() / "d/grün/gone.png");
  ASSERT_EQ(mkfifo((folder() / "d/grün/pipe.png").c_str(), 0600), 0);
  expect_bad_folder("d", "pipe.png: expected a regular file");

  write("d/grün/text.png", "text");
  const Outcome both = weft(training("d"));
  EXPECT_EQ(both.exit_code, 3);
  EXPECT_EQ(lines_of(both.err).back(),
            "weft: error: d: 2 pictures cannot be read; repair them, or leave them out with "
            "--skip-broken");
  EXPECT_FALSE(fs::exists(folder() / "run"));
  const Outcome skipped = weft(training("d", {"--skip-broken", "--epochs", "1"}));
  EXPECT_EQ(skipped.exit_code, 0) << skipped.err;
  EXPECT_NE(skipped.err.find("left out 2 pictures"), std::string::npos) << skipped.err;
}

TEST_F(OwnData, OddFlagsAreUsage) {
  write_easy_pictures("d");
  for (const char* size :
       {"28", "0x5", "5x0", "5x", "x5", "5X5", "5x5x5", "-1x5", "1025x5", "5x5 "}) {
    expect_refused(training("d", {"--image-size", size}), 2, "--image-size");
  }
  expect_refused(training("d", {"--label-pattern", "*.png"}), 2, "with LABEL once");
  expect_refused(training("d", {"--channels", "2"}), 2, "expected 1 or 3, found '2'");
  expect_refused(training("d", {"--fit", "squeeze"}), 2, "--fit");
  expect_refused(training("d", {"--dataset", "digits"}), 2, "--data is for data of your own");
  expect_refused(training("d", {"--data-dir", "d"}), 2, "--data is for data of your own");
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{"--image-size", "8x8"},
                                             {"--channels", "1"},
                                             {"--label-pattern", "LABEL.*"},
                                             {"--fit", "crop"},
                                             {"--skip-broken"},
                                             {"--no-cache"},
                                             {"--no-links"}}) {
    std::vector<std::string> arguments = {"train", "--dataset", "digits", "--device", "cpu"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    expect_refused(arguments, 2, flags[0] + " goes with --data DIR only");
  }
  expect_refused({"eval", "nowhere", "--data", "d", "--fit", "crop"}, 2, "--fit");
}

TEST_F(OwnData, LinksThatLeadOutAreSaidOrRefused) {
  write_easy_pictures("d");
  fs::create_symlink("/etc/hostname", folder() / "d/grün/foreign.txt");
  const std::string line = "d: 1 link leads out of this folder, grün/foreign.txt";
  const Outcome followed = weft({"data", "info", "--data", "d"});
  EXPECT_EQ(followed.exit_code, 0) << followed.err;
  EXPECT_NE(followed.err.find(line + "; --no-links refuses it\n"), std::string::npos)
      << followed.err;
  expect_refused(training("d", {"--no-links"}), 3, line + ", and --no-links refuses it");
  expect_refused({"data", "info", "--data", "d", "--no-links"}, 3, line);
}

TEST_F(OwnData, IdxAndCifarFilesThatAreWrong) {
  const auto write_bad = [&](const std::string& name, const Bytes& bytes) {
    write_bytes(folder() / name, bytes);
  };
  write_bad("i/train-images-idx3-ubyte", idx({2, 4, 4}, Bytes(32, 1)));
  expect_bad_folder("i", "no train-labels-idx1-ubyte");
  write_bad("i/train-labels-idx1-ubyte", idx({2}, {0, 1}));
  write_bad("i/t10k-images-idx3-ubyte", idx({2, 4, 4}, Bytes(31, 1)));
  write_bad("i/t10k-labels-idx1-ubyte", idx({2}, {0, 1}));
  expect_bad_folder("i", "t10k-images-idx3-ubyte");
  write_bad("i/t10k-images-idx3-ubyte", idx({2, 4, 4}, Bytes(32, 1)));
  expect_refused(training("i", {"--image-size", "8x8"}), 2, "1 x 4 x 4");
  write_bad("c/train.bin", Bytes(3073));
  expect_bad_folder("c", "records of 3074 bytes");
  write_bad("c/train.bin", Bytes(3074));
  expect_bad_folder("c", "test.bin: no such file");
}

TEST_F(OwnData, HundredsOfClassesMakeAReportThatABrowserCanShow) {
  for (int i = 0; i < 300; ++i) {
    write_class(folder() / "d" / std::to_string(i), 2, static_cast<std::uint8_t>(i % 200));
  }
  const Outcome outcome = weft(training("d", {"--epochs", "1"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_LT(read("run/report.html").size(), 1'000'000u);
  EXPECT_NE(read("run/report.html").find("300 classes are too many to draw"), std::string::npos);
}

TEST_F(OwnData, NamesAsLongAsTheSystemAllows) {
  const std::string longest(255, 'n');
  write_class(folder() / "d" / longest, 10, 0, 6, 6);
  write_class(folder() / "d/b\x1b[31m", 10, 200, 6, 6);
  const Outcome outcome = weft(training("d", {"--epochs", "1"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("\x1b[31m"), std::string::npos);
}

}  // namespace
}  // namespace weft::test
