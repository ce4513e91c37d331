// SPDX-License-Identifier: MIT
#include "data/layouts.h"

namespace weft::data {
namespace {

constexpr ReadLayout kLayouts[] = {
    {"pictures", "`CLASS/*.png`", "torchvision's ImageFolder, Keras' image_dataset_from_directory"},
    {"pictures", "`train/CLASS/`, `test/CLASS/`", "many"},
    {"pictures", "`train/CLASS/`, `valid/CLASS/`", "fastai"},
    {"pictures", "`train/CLASS/`, `val/CLASS/`, `test/CLASS/`", "ImageNet, many"},
    {"pictures", "`Training/`, `Testing/`; `trainingSet/`, `testSet/`; `seg_train/`, `seg_test/`",
     "Kaggle"},
    {"pictures", "`NAME/NAME/train/`, beside `__MACOSX/`", "unpacked archives"},
    {"pictures", "`CLASS/train/`, `CLASS/test/`", "some"},
    {"pictures", "`CLASS/images/`, `CLASS/masks/`", "radiographs on Kaggle"},
    {"pictures", "`images/CLASS/` beside `Annotations/` or other folders without pictures",
     "Stanford Dogs, ImageNet"},
    {"pictures", "`images/CLASS/`, and `train.txt`, `test.txt` with paths", "Food-101"},
    {"pictures", "`images/CLASS/`, `images.txt`, `train_test_split.txt`", "CUB-200"},
    {"labels in a table", "`labels.csv`, pictures in any folder", "Kaggle, fastai's from_csv"},
    {"labels in a table", "`train.csv`, `train/`, `test/`, `sample_submission.csv`", "Kaggle"},
    {"labels in a table", "a column `split` or `is_valid`", "fastai, many"},
    {"labels in a table", "`train.txt` with a path and a label in each line", "Caffe"},
    {"labels in a table", "`train/CLASS/`, and a table of what `test/` or `val/` holds",
     "GTSRB on Kaggle, Tiny ImageNet"},
    {"labels in a table", "a column of 0 and 1 for each class, also in `train/_classes.csv`",
     "Roboflow, ISIC"},
    {"labels in JSON", "`labels.json`, `dataset.json`, `train/metadata.jsonl`",
     "Hugging Face's ImageFolder, StyleGAN"},
    {"labels in files", "`000.jpg`, `000.cls` or `000.json`", "WebDataset"},
    {"labels in names", "`cat.0.jpg`, `7_00012.png`, by `--label-pattern`",
     "fastai's from_name_re"},
    {"tables", "`mnist_train.csv`, `mnist_test.csv`, with or without a header", "Kaggle, pjreddie"},
    {"tables", "`train.csv` with `label`, `test.csv` without", "Kaggle's digit-recognizer"},
    {"tables", "`.tsv`, `;`, tabs or blanks, `.csv.gz`, quoted fields", "pandas, spreadsheets"},
    {"tables", "`X_train.csv`, `y_train.csv`, ...", "pandas, scikit-learn"},
    {"tables", "`train/`, `test/` with tables or arrays in them", "some"},
    {"tables", "UTF-16", "Excel"},
    {"tables", "`emotion,pixels,Usage`", "FER2013"},
    {"tables", "`optdigits.tra`, `optdigits.tes`; `zip.train.gz`, `zip.test.gz`", "UCI, USPS"},
    {"tables", "`emnist-letters-train.csv`, `emnist-letters-test.csv`", "EMNIST on Kaggle"},
    {"arrays", "`mnist.npz` with `x_train`, `y_train`, `x_test`, `y_test`", "Keras"},
    {"arrays", "`.npz` with `train_images`, `train_labels`, `val_images`, ...", "MedMNIST"},
    {"arrays", "`.npz` with `data`, `target`; `x`, `y`; `arr_0`, `arr_1`",
     "scikit-learn, numpy.savez"},
    {"arrays", "`train.npz`, `test.npz`", "numpy.savez"},
    {"arrays", "`X_train.npy`, `y_train.npy`, ...", "numpy.save"},
    {"arrays", "labels in words, and the names of classes", "numpy.savez"},
    {"arrays", "`full_numpy_bitmap_cat.npy`, a class in each", "Quick, Draw!"},
    {"arrays", "a dict in an `.npy` file", "numpy.save"},
    {"arrays", "`mnist.pkl.gz`", "deeplearning.net"},
    {"arrays", "`train.p`, `valid.p`, `test.p` with `features`, `labels`", "traffic signs"},
    {"arrays", "`.pkl` with dicts, tuples and lists of arrays", "pickle.dump"},
    {"arrays", "`.pkl` with a list of pairs of image and label",
     "pickle.dump of a PyTorch data set"},
    {"IDX", "`train-images-idx3-ubyte`, `t10k-labels-idx1-ubyte`, ..., `.gz` or not",
     "MNIST, Fashion-MNIST, KMNIST"},
    {"IDX", "`train_images`, `test_labels`, ...; a folder for each file",
     "unpacked on other systems"},
    {"IDX", "`emnist-letters-train-images-idx3-ubyte.gz`, ...", "EMNIST"},
    {"IDX", "`qmnist-train-labels-idx2-int.gz`, ...", "QMNIST"},
    {"IDX", "`MNIST/raw/`", "torchvision"},
    {"CIFAR", "`data_batch_1.bin`, ..., `train.bin`", "CIFAR's binary version"},
    {"CIFAR", "`data_batch_1`, ..., `train`, `meta`", "CIFAR's Python version"},
    {"STL-10", "`train_X.bin`, `train_y.bin`, ...", "STL-10's binary version"},
    {"archives", "`.zip`, `.tar`, `.tar.gz`, `.tar.bz2` and `.tar.xz` of any of these",
     "Kaggle, GitHub, macOS, Windows"},
};

}  // namespace

std::span<const ReadLayout> read_layouts() {
  return kLayouts;
}

}  // namespace weft::data
