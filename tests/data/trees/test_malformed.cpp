// SPDX-License-Identifier: MIT
// Files that are wrong in some way: each is refused in one line that names it.
#include "data/own_data.h"
#include "tests/data/trees/archives.h"

namespace weft::test {
namespace {

using data::NpyArray;
using Files = std::vector<std::pair<std::string, Bytes>>;

struct Case {
  Files files;       // a single one is given itself, several by their folder
  std::string part;  // of the line
};

Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Bytes cut(Bytes bytes, std::size_t size) {
  bytes.resize(size);
  return bytes;
}

Bytes changed(Bytes bytes, std::size_t at, std::uint8_t value) {
  bytes[at] = value;
  return bytes;
}

Bytes zeros(std::size_t count) {
  return Bytes(count);
}

const std::string kRows = "label,a,b,c,d\n0,1,2,3,4\n1,5,6,7,8\n0,1,2,3,5\n1,5,6,7,9\n";

Bytes npy_of(const std::string& dtype, const std::vector<std::int64_t>& shape, std::size_t bytes) {
  return joined({text(data::npy_header(dtype, shape)), zeros(bytes)});
}

// A header as NumPy writes it, with any text in it.
Bytes npy_with(const std::string& header, std::size_t bytes) {
  Bytes file = text(std::string("\x93NUMPY\1\0", 8));
  append_number(file, header.size(), 2);
  return joined({file, text(header), zeros(bytes)});
}

Bytes labels_npy(const std::vector<std::uint8_t>& labels) {
  return joined(
      {text(data::npy_header("u1", std::vector<std::int64_t>{std::ssize(labels)})), labels});
}

void expect_refused(const std::vector<Case>& cases, const data::FolderOptions& options = {}) {
  for (const Case& wrong : cases) {
    const TempFolder folder;
    for (const auto& [name, bytes] : wrong.files) write_bytes(folder.path() / name, bytes);
    const std::string& first = wrong.files.front().first;
    SCOPED_TRACE(first + ": " + wrong.part);
    const bool is_one = wrong.files.size() == 1 && first.find('/') == std::string::npos;
    const std::filesystem::path path = is_one ? folder.path() / first : folder.path();
    expect_error(ErrorKind::data, {path.string(), wrong.part},
                 [&] { data::load_own_data(path, options); });
  }
}

TEST(Malformed, Tables) {
  std::string many = "label,a,b,c,d\n";
  for (int i = 0; i < 5000; ++i) many += "c" + std::to_string(i) + ",1,2,3,4\n";
  const Bytes zipped = gzip(text(kRows));
  expect_refused({
      {{{"a.csv", {}}}, "empty"},
      {{{"a.csv", text("\n \n\n")}}, "empty"},
      {{{"a.csv", text("label,a,b,c,d\n")}}, "no rows below the header"},
      {{{"a.csv", text(kRows + "0,1,2,3\n")}}, "line 6: expected 5 fields"},
      {{{"a.csv", text(kRows + "0,1,2,3,4,5\n")}}, "line 6: expected 5 fields"},
      {{{"a.csv", text(kRows + "0,1,x,3,4\n")}}, "line 6: column 3: expected a number, found 'x'"},
      {{{"a.csv", text(kRows + "0,1,,3,4\n")}}, "line 6: column 3"},
      {{{"a.csv", text(kRows + "0,1,nan,3,4\n")}}, "not finite"},
      {{{"a.csv", text(kRows + "0,1,inf,3,4\n")}}, "not finite"},
      {{{"a.csv", text(kRows + "0,1,-300,3,4\n")}}, "values from -300"},
      {{{"a.csv", text(kRows + "0,1,70000,3,4\n")}}, "to 70000"},
      {{{"a.csv", text(kRows + "0,1,1e99,3,4\n")}}, "line 6: column 3"},
      {{{"a.csv", text(kRows + ",1,2,3,4\n")}}, "line 6: an empty label"},
      {{{"a.csv", text(kRows + "\"0,1,2,3,4\n")}}, "line 6: a double quote has no end"},
      {{{"a.csv", text(kRows + "\"0\"x,1,2,3,4\n")}}, "line 6: text behind a field"},
      {{{"a.csv", text(kRows + "label,a,b,c,d\n")}}, "line 6: column 2"},
      {{{"a.csv", text(kRows + "\xff\xfe,1,2,3,4\n")}}, "not UTF-8"},
      {{{"a.csv", text("label,a,b,c,d\n0,1,2,3,4\n0,5,6,7,8\n")}}, "every label is 0"},
      {{{"a.csv", text("label,a,b,c,d\n0,1,2,3,4\n1,5,6,7,8\n")}}, "one image in each class"},
      {{{"a.csv", text("label,a,b,c,d,e\n0,1,2,3,4,5\n1,5,6,7,8,9\n")}}, "no square"},
      {{{"a.csv", text(many)}}, "more than 4096 different labels"},
      {{{"a.csv.gz", cut(zipped, zipped.size() - 9)}}, "damaged gzip data"},
      {{{"a.csv.gz", joined({zipped, text("rest")})}}, "garbage after the end"},
      {{{"a.csv.gz", changed(zipped, 12, 0xff)}}, "a.csv.gz"},
      {{{"a.csv", text(std::string("l\0a\0b\0", 6))}}, "a.csv"},
      {{{"program", text(std::string("\177ELF\0\0", 6))}}, "not text"},
      {{{"train.csv", text(kRows)}, {"train.tsv", text(kRows)}}, "would both be the training set"},
      {{{"train.csv", text(kRows)}, {"test.csv", text("label,a,b,c,d\n7,1,2,3,4\n")}},
       "has the label '7'"},
      {{{"a.csv", text(kRows)}, {"a.npy", npy_of("u1", {4, 2, 2}, 16)}}, "both hold images"},
  });
}

TEST(Malformed, Arrays) {
  const Bytes images = npy_of("u1", {4, 2, 2}, 16), labels = labels_npy({0, 1, 0, 1});
  const auto pair = [&](const Bytes& x, const Bytes& y) {
    return Files{{"x_train.npy", x}, {"y_train.npy", y}};
  };
  expect_refused({
      {pair(text("hello"), labels), "not an .npy file"},
      {pair(changed(images, 6, 9), labels), "version"},
      {pair(changed(images, 9, 0xff), labels), "x_train.npy"},
      {pair(cut(images, images.size() - 1), labels), "x_train.npy"},
      {pair(joined({images, text("x")}), labels), "x_train.npy"},
      {pair(npy_with("{'descr': '|u1', 'fortran_order': False, 'shape': (-4, 2, 2), }", 16),
            labels),
       "x_train.npy"},
      {pair(npy_with(
                "{'descr': '|u1', 'fortran_order': False, 'shape': (9999999999999, 9999999, 9), }",
                16),
            labels),
       "x_train.npy"},
      {pair(npy_with("{'descr': '|O', 'fortran_order': False, 'shape': (4,), }", 16), labels),
       "x_train.npy"},
      {pair(npy_with("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }", 16), labels),
       "x_train.npy"},
      {pair(npy_with("{'descr': '|u1'}", 16), labels), "x_train.npy"},
      {pair(npy_with("", 16), labels), "x_train.npy"},
      {pair(npy_of("u1", {0, 2, 2}, 0), labels), "no values"},
      {pair(npy_of("u1", {4, 2, 2, 2, 1}, 32), labels), "images of the shape"},
      {pair(npy_of("u1", {4, 2000, 1}, 8000), labels), "at most 1024 a side"},
      {pair(npy_of("u1", {4, 5}, 20), labels), "no square"},
      {pair(images, labels_npy({0, 1, 0})), "4 images, but 3 labels"},
      {pair(images, npy_of("u1", {4, 2}, 8)), "not a single 1 among zeros"},
      {pair(images, npy_of("u1", {4, 2, 2}, 16)), "labels of the shape"},
      {{{"x_train.npy", images}}, "images without labels"},
      {{{"x_train.npy", images}, {"x_test.npy", images}}, "images without labels"},
      {{{"y_train.npy", labels}, {"y_test.npy", labels}}, "labels without images"},
      {{{"x_test.npy", images}, {"y_test.npy", labels}}, "a test set without a training set"},
      {{{"a.npz", text("hello")}}, "a.npz"},
      {{{"a.pkl", text("cos\nsystem\n(S'true'\ntR.")}}, "a.pkl"},
      {{{"a.pkl", text(std::string("\x80\4\x95\xff\xff\xff\xff\xff\xff\xff\x7f", 11))}}, "a.pkl"},
      {{{"a.pkl", text("(lp0\nI1\naI2\na.")}}, "labels without images"},
      {{{"a.pkl.gz", text("(lp0\n.")}}, "no arrays in it"},
  });
}

TEST(Malformed, IdxAndCifar) {
  const Bytes images = idx({2, 2, 2}, zeros(8)), labels = idx({2}, {0, 1});
  const auto set = [&](const Bytes& x, const Bytes& y) {
    return Files{{"train-images-idx3-ubyte", x},
                 {"train-labels-idx1-ubyte", y},
                 {"t10k-images-idx3-ubyte", images},
                 {"t10k-labels-idx1-ubyte", labels}};
  };
  expect_refused({
      {set({}, labels), "too short for an IDX header"},
      {set(cut(images, 9), labels), "IDX header cut off"},
      {set(cut(images, 20), labels), "asks for 8 bytes"},
      {set(joined({images, zeros(1)}), labels), "asks for 8 bytes"},
      {set(changed(images, 0, 1), labels), "two zero bytes"},
      {set(changed(images, 2, 0x0d), labels), "expected 8 (unsigned bytes)"},
      {set(changed(images, 3, 2), labels), "IDX rank"},
      {set(changed(images, 4, 0xff), labels), "ask for more than"},
      {set(idx({0, 2, 2}, {}), idx({0}, {})), "holds no pixels"},
      {set(images, idx({3}, {0, 1, 1})), "2 images, but 3 labels"},
      {set(images, idx({2}, {0, 0})), "no training image has label 1"},
      {set(gzip(joined({images, zeros(9)})), labels), "found more"},
      {set(idx({2, 3, 3}, zeros(18)), labels), "test images are"},
      {{{"train-images-idx3-ubyte", images}, {"a", {}}}, "no train-labels-idx1-ubyte"},
      {{{"data_batch_1.bin", zeros(3072)}, {"test_batch.bin", zeros(3073)}},
       "records of 3073 bytes"},
      {{{"train.bin", zeros(3074)}, {"a", {}}}, "test.bin: no such file"},
      {{{"train.bin", changed(zeros(3074), 1, 100)}, {"test.bin", zeros(3074)}}, "label 100"},
      {{{"data_batch_1", text("(dp0\n.")}, {"batches.meta", text("(dp0\n.")}},
       "0 names, expected 10"},
  });
}

TEST(Malformed, LabelsOfPictures) {
  const auto set = [](const std::string& name, const std::string& content) {
    return Files{{name, text(content)}, {"images/0.png", text("x")}, {"images/1.png", text("y")}};
  };
  const std::string deep(100'000, '[');
  expect_refused({
      {set("labels.csv", ""), "one class only"},
      {set("labels.csv", "id,label\n0,a\n1,a\n"), "1 different labels"},
      {set("labels.csv", "id,label\n0,a\n1,b\n0,b\n"), "line 4: '0' has the label 'b' here"},
      {set("labels.csv", "id,label\n0,a\n1,,\n"), "line 3: an empty label"},
      {set("labels.csv", "id,label\n0,a\n1\n"), "line 3: 1 fields, too few"},
      {set("labels.csv", "id,label,split\n0,a,train\n1,b,x\n"), "expected the name of a set"},
      {set("labels.csv", "id,label\n0,a\n1,\xff\n"), "not UTF-8"},
      {set("labels.csv", "id,a,b\n0,1,1\n1,0,1\n"), "line 2: the classes 'a' and 'b'"},
      {set("labels.json", deep), "one class only"},
      {set("labels.json", "{\"0.png\": " + deep), "one class only"},
      {set("labels.json", R"({"0.png": "a", "1.png": )"), "one class only"},
      {set("labels.json", R"({"0.png": "a", "1.png": "a"})"), "1 different labels"},
      {set("labels.json", R"({"labels": [["0.png", 1], ["1.png"]]})"), "1 fields, too few"},
      {set("labels.json", R"({"labels": [["0.png", 1], ["9.png", 2], ["1.png", 3]]})"),
       "one picture in each class"},
      {set("a.jsonl", R"({"file": "0.png", "label": 1})"
                      "\nnull\n"),
       "one class only"},
      {set("labels.json", "\xff\xfe\xfd"), "one class only"},
      {{{"0.cls", {}}, {"0.png", text("x")}}, "an empty label"},
      {{{"0.cls", zeros(1 << 17)}, {"0.png", text("x")}}, "0.cls"},
      {{{"images/cat/0.png", text("x")},
        {"images/dog/1.png", text("x")},
        {"train.txt", text("cat/0\n")},
        {"test.txt", text("dog/1\n")}},
       "1 different labels of training pictures"},
  });
}

TEST(Malformed, WordsAndObjects) {
  const Bytes images = npy_of("u1", {4, 2, 2}, 16);
  const auto words = [&](const std::string& descr, std::size_t bytes) {
    return Files{
        {"x_train.npy", images},
        {"y_train.npy",
         npy_with("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (4,), }", bytes)}};
  };
  expect_refused({
      {words("<U2", 31), "words of 8 bytes do not fill 31 bytes"},
      {words("|S0", 0), "words of 0 bytes"},
      {words("<U99999999999", 16), "are not supported"},
      {words("|S4", 16), "every label is "},
      {words("|O", 0), "pickle"},
      {words("|O", 16), "pickle"},
      {words("|V4", 16), "are not supported"},
      {{{"a.npy", npy_of("u1", {4, 2, 2}, 16)}, {"b.npy", npy_of("f4", {4, 2, 2}, 64)}},
       "other values than in"},
      {{{"train_X.bin", zeros(27648)}, {"train_y.bin", zeros(1)}}, "label 0, expected 1 to 10"},
      {{{"train_X.bin", zeros(27647)}, {"train_y.bin", zeros(1)}}, "27647 bytes, expected 27648"},
      {{{"train_X.bin", {}}, {"train_y.bin", {}}}, "0 bytes, expected"},
      {{{"train_images", text("hello")}, {"train_labels", text("hello")}}, "holds train_images"},
      {{{"a.tra", text("1,2,3,4,5,6,7,8,9\nx\n")}, {"b", {}}}, "line 2"},
      {{{"a.csv", text(std::string("\xff\xfel\0,\0a\0", 9))}}, "a.csv"},
  });
}

#ifdef WEFT_WITH_LIBARCHIVE

TEST(Malformed, Archives) {
  const Bytes table = zip_of({{"a.csv", text(kRows)}});
  const Bytes tar = tar_of({{"a.csv", text(kRows)}});
  expect_refused({
      {{{"a.zip", {}}}, "a.zip"},
      {{{"a.zip", zeros(100)}}, "a.zip"},
      {{{"a.zip", cut(table, 30)}}, "a.zip"},
      {{{"a.zip", cut(table, 60)}}, "a.zip"},
      {{{"a.zip", changed(table, 45, 'x')}}, "CRC"},
      {{{"a.zip", zip_of({{"readme.md", text("x")}})}}, "holds readme.md alone"},
      {{{"a.zip", zip_of({{"/", {}}, {"b/", {}}})}}, "a.zip"},
      {{{"a.zip", zip_of({{std::string(5000, 'n'), text("x")}})}}, "names in it are too long"},
      {{{"a.zip", zip_of({{"../../a.csv", text(kRows)}})}}, "leads out of the archive"},
      {{{"a.tar", cut(tar, 512)}}, "a.tar"},
      {{{"a.tar", changed(tar, 0, 'b')}}, "a.tar"},
      {{{"a.tar", text("hello")}}, "a.tar"},
      {{{"a.tar", tar_of({{"a.tar", tar}})}}, "an archive in another one"},
      {{{"a.tar.gz", tar_of({})}}, "a.tar.gz"},
      {{{"a.tgz", cut(gzip(tar), 90)}}, "a.tgz"},
      {{{"a.tar.bz2", text("BZh9hello")}}, "a.tar.bz2"},
      {{{"a.tar.xz", text(std::string("\xfd"
                                      "7zXZ\0hello",
                                      11))}},
       "a.tar.xz"},
      {{{"a.npz", zip_of({{"a.txt", text("x")}})}}, "no arrays in it"},
      {{{"a.npz", zip_of({{"x.npy", text("x")}})}}, "not an .npy file"},
      {{{"a.npz", zip_of({{"x.npy", text("x"), '0', 1}})}}, "a.npz"},
      {{{"a.npz", zip_of({{"x.npy", npy_of("u1", {4, 2, 2}, 16)}})}}, "images without labels"},
      {{{"a.zip", zip_of({{"cat/a.png", text("x")}, {"dog/a.png", text("y")}})}},
       "one picture in each class"},
  });
}

// What is small on disk and large in memory is refused before it is there.
TEST(Malformed, WhatNeedsMoreMemoryThanThereIs) {
  data::FolderOptions options;
  options.memory = std::uint64_t{3} << 20;
  const Bytes large(std::size_t{8} << 20, '1');
  expect_refused({{{{"a.csv", large}}, "MiB of memory are free"},
                  {{{"a.csv.gz", gzip(large)}}, "MiB of memory are free"},
                  {{{"a.npy", large}, {"b.npy", large}}, "MiB of memory are free"},
                  {{{"a.tar.gz", gzip(tar_of({{"a.csv", large}}))}}, "MiB of memory are free"}},
                 options);
}

#endif

}  // namespace
}  // namespace weft::test
