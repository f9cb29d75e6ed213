#include <algorithm>

#include "base/error.h"
#include "base/str_cat.h"
#include "curate/damage_fixture.h"
#include "data/dataset.h"
#include "data/dataset_check.h"

namespace flexor::curate {

using data::Finding;
using data::Severity;

std::string text_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += str_cat(finding.severity == Severity::kError ? "error " : "warning ", finding.code, ": ",
                    data::describe(finding), " (", finding.where(), ")\n");
  }
  return text;
}

std::string train_error(const std::string& root) {
  try {
    const auto dataset = data::Dataset::open({.root = root, .episodes = {}, .rename_map = {}, .columns = {}});
    data::report_findings(data::check_dataset(dataset), root);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect_reported(const Damage& damage) {
  const DamagedDataset dataset(damage.dataset);
  damage.make(dataset);
  const VerifyReport report = verify_dataset({.root = dataset.root()});
  const WantedFinding& wanted = damage.wanted;
  const auto fits = [&](const Finding& finding) {
    return finding.code == wanted.code && finding.severity == damage.severity && finding.file == wanted.file &&
           (!wanted.episode || finding.episode == wanted.episode) && (!wanted.frame || finding.frame == wanted.frame) &&
           (wanted.feature.empty() || finding.feature == wanted.feature);
  };
  const std::string text = text_of(report.findings);
  EXPECT_TRUE(std::any_of(report.findings.begin(), report.findings.end(), fits)) << text;
  EXPECT_EQ(report.ok(), damage.severity == Severity::kWarning) << text;
  const std::string refused = train_error(dataset.root());
  EXPECT_EQ(refused.empty(), report.ok()) << "training says: " << refused << "\nverify says: " << text;
}

}  // namespace flexor::curate
