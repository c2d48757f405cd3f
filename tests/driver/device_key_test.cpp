// Records of devices: which one answers where there are several.
#include "driver/device_key.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "db/record_fixture.h"
#include "driver/stored.h"

namespace polyweft {
namespace {

constexpr const char *kFirstCard = "a card, driver 1", *kOtherCard = "another card, driver 1",
                     *kNewerDriver = "a card, driver 2";

class DeviceKeys : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-devices-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    record_ = numbered_record(1);
    task_.key = record_.key;
    task_.canonical_text = record_.canonical_text;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void store(const std::string& device, double ns) {
    TuningRecord record = record_;
    record.key = on_device(record.key, device);
    record.measurement.timing.median_ns = ns;
    const auto id = (*open_database(folder_ / "s.db"))->insert(record);
    ASSERT_TRUE(id) << id.error().message;
  }
  /// Its time; 0: there is none.
  double found(const std::string& device) {
    task_.device = device;
    Stored stored(folder_ / "s.db");
    const auto record = stored.best_of_devices(task_);
    EXPECT_TRUE(record) << record.error().message;
    return record && *record ? (*record)->measurement.timing.median_ns : 0;
  }

  std::filesystem::path folder_;
  TuningRecord record_;
  Task task_;
};

TEST_F(DeviceKeys, a_device_and_its_driver_are_part_of_the_key) {
  const TaskKey key = on_device(task_.key, kFirstCard);
  EXPECT_NE(key, task_.key);
  EXPECT_NE(key, on_device(task_.key, kNewerDriver));
  EXPECT_EQ(on_device(key, kOtherCard), key) << "it has one already";
  EXPECT_EQ(on_device(task_.key, ""), task_.key);
  EXPECT_TRUE(is_on_some_device(key, task_.key));
  EXPECT_FALSE(is_on_some_device(task_.key, task_.key));
  TaskKey other = task_.key;
  other.threads += 1;
  EXPECT_FALSE(is_on_some_device(key, other));
}

TEST_F(DeviceKeys, the_own_device_answers_first_then_whatever_is_fastest) {
  store(kOtherCard, 300);
  store(kNewerDriver, 400);
  EXPECT_EQ(found(kFirstCard), 300);
  EXPECT_EQ(found(""), 300);
  store("", 900);
  EXPECT_EQ(found(kFirstCard), 900) << "of a search that knew no device, as older versions left it";
  store(kFirstCard, 1'000);
  EXPECT_EQ(found(kFirstCard), 1'000);
  EXPECT_EQ(found(kNewerDriver), 400);
}

}  // namespace
}  // namespace polyweft
