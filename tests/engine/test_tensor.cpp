// SPDX-License-Identifier: MIT
#include "engine/tensor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

#include "tests/support/device_test.h"

namespace weft {
namespace {

static_assert(!std::is_copy_constructible_v<Tensor> && std::is_move_constructible_v<Tensor>);

template <class Function>
ErrorKind kind_of_error(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorKind::check_failed;
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(Shape({4}).elements(), 4);
  EXPECT_EQ((Shape{2, 3, 4}).elements(), 24);
  EXPECT_EQ((Shape{2, 0, 4}).elements(), 0);
  EXPECT_EQ((Shape{2, 3, 4})[1], 3);
  EXPECT_EQ((Shape{2, 3, 4}).rank(), 3);
}

TEST(Shape, ComparesAndPrints) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2, 3}), (Shape{2, 3, 1}));
  EXPECT_NE(Shape(), (Shape{0}));
  EXPECT_EQ(to_string(Shape{64, 1, 28, 28}), "(64, 1, 28, 28)");
  EXPECT_EQ(to_string(Shape{7}), "(7,)");
  EXPECT_EQ(to_string(Shape()), "()");
}

TEST(Shape, ReplacesTheBatch) {
  EXPECT_EQ((Shape{64, 28, 28}).with_batch(3), (Shape{3, 28, 28}));
  EXPECT_EQ(kind_of_error([] { static_cast<void>(Shape().with_batch(3)); }), ErrorKind::usage);
}

TEST(Shape, RefusesWhatCannotBe) {
  EXPECT_EQ(kind_of_error([] { Shape{2, -1}; }), ErrorKind::usage);
  EXPECT_EQ(kind_of_error([] { Shape{1, 1, 1, 1, 1, 1, 1}; }), ErrorKind::usage);
  const std::int64_t large = std::int64_t{1} << 32;
  EXPECT_EQ(kind_of_error([&] { Shape{large, large}; }), ErrorKind::usage);
}

TEST(Shape, HasNoOtherAxes) {
  const Shape shape{2, 3};
  EXPECT_EQ(shape[1], 3);
  for (const int axis : {2, 5, 6, 77, -1}) {
    EXPECT_EQ(kind_of_error([&] { static_cast<void>(shape[axis]); }), ErrorKind::usage) << axis;
  }
}

TEST(DType, HasASizeAndAName) {
  EXPECT_EQ(size_of(DType::f32), 4u);
  EXPECT_EQ(size_of(DType::f64), 8u);
  EXPECT_EQ(size_of(DType::i32), 4u);
  EXPECT_EQ(size_of(DType::i64), 8u);
  EXPECT_EQ(size_of(DType::u8), 1u);
  EXPECT_STREQ(name_of(DType::u8), "u8");
  EXPECT_EQ(dtype_of<const float>(), DType::f32);
  EXPECT_EQ(dtype_of<std::int64_t>(), DType::i64);
}

class TensorTest : public test::DeviceTest {};

TEST_P(TensorTest, RoundTripsThroughTheDevice) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const Tensor tensor = tensor_from_host<float>({2, 3}, values, stream());
  EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
  EXPECT_EQ(tensor.device(), device());
  EXPECT_EQ(tensor.bytes(), 24u);
  EXPECT_EQ(to_host(tensor.view<float>(), stream()), values);
}

TEST_P(TensorTest, MovesWithItsMemory) {
  Tensor a = tensor_from_host<std::int32_t>({3}, std::vector<std::int32_t>{7, 8, 9}, stream());
  const void* memory = a.raw();
  Tensor b = std::move(a);
  EXPECT_EQ(b.raw(), memory);
  Tensor c;
  c = std::move(b);
  EXPECT_EQ(to_host(c.view<std::int32_t>(), stream()), (std::vector<std::int32_t>{7, 8, 9}));
}

TEST_P(TensorTest, IsEmptyOnceMovedFrom) {
  Tensor a({2, 3}, DType::i32, stream());
  const Tensor b = std::move(a);
  Tensor c({4}, DType::f32, stream());
  Tensor d;
  d = std::move(c);
  for (const Tensor* from : {&a, &c}) {  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(from->shape(), Shape{0});
    EXPECT_EQ(from->elements(), 0);
    EXPECT_EQ(from->raw(), nullptr);
    EXPECT_EQ(from->view<float>().elements(), 0);
  }
  EXPECT_EQ(b.shape(), (Shape{2, 3}));
  EXPECT_EQ(d.elements(), 4);
}

TEST_P(TensorTest, KnowsItsType) {
  const Tensor tensor({2}, DType::f32, stream());
  EXPECT_EQ(kind_of_error([&] { static_cast<void>(tensor.data<double>()); }), ErrorKind::usage);
}

TEST_P(TensorTest, ViewsReshape) {
  Tensor tensor = tensor_from_host<float>({2, 3}, std::vector<float>(6, 1.0f), stream());
  const TensorView<float> view = tensor.view<float>().reshaped({3, 2});
  EXPECT_EQ(view.data, tensor.data<float>());
  EXPECT_EQ(view.shape, (Shape{3, 2}));
  const TensorView<const float> read_only = view;
  EXPECT_EQ(read_only.elements(), 6);
  EXPECT_EQ(kind_of_error([&] { static_cast<void>(view.reshaped({7})); }), ErrorKind::usage);
}

TEST_P(TensorTest, CopiesCheckSizesAndZeroes) {
  Tensor tensor = tensor_from_host<float>({4}, std::vector<float>(4, 3.0f), stream());
  EXPECT_EQ(
      kind_of_error([&] { copy_from_host(tensor.view<float>(), std::vector<float>(5), stream()); }),
      ErrorKind::usage);
  zero_bytes(tensor.data<float>() + 1, 2 * sizeof(float), stream());
  EXPECT_EQ(to_host(tensor.view<float>(), stream()), (std::vector<float>{3, 0, 0, 3}));
}

TEST_P(TensorTest, EmptyIsValid) {
  const Tensor tensor({0, 5}, DType::f32, stream());
  EXPECT_EQ(tensor.raw(), nullptr);
  EXPECT_TRUE(to_host(tensor.view<float>(), stream()).empty());
}

WEFT_ON_EACH_DEVICE(TensorTest);

}  // namespace
}  // namespace weft
