#include "curate/episode_values.h"

#include <cstdint>
#include <map>
#include <utility>

#include "curate/episode_moments.h"
#include "data/data_file.h"

namespace flexor::curate {
void for_each_episode(const StatsSource& source, const NumericScan& scan,
                      const std::vector<const data::FeatureInfo*>& features,
                      const std::function<void(size_t, const std::vector<NumericValues>&)>& body) {
  std::vector<NumericValues> empty;
  for (const data::FeatureInfo* feature : features) {
    empty.push_back(data::empty_column(*feature).values);
  }
  // The columns of a piece arrive one after the other: each is gathered until the last one has the whole episode.
  struct Gathered {
    std::vector<NumericValues> values;
    std::vector<int64_t> rows;
  };
  std::map<size_t, Gathered> open;
  for (const NumericScan::Unit& unit : scan.units()) {
    scan.run(unit, features, [&](size_t feature, const ScanPiece& piece) {
      EpisodeMoments::of(source, *features[feature], piece);  // refuses what is not finite
      Gathered& gathered =
          open.try_emplace(piece.episode, Gathered{empty, std::vector<int64_t>(features.size())}).first->second;
      append_piece(piece, gathered.values[feature]);
      gathered.rows[feature] += piece.count;
      if (feature + 1 == features.size() && gathered.rows[feature] == source.rows[piece.episode].count) {
        const Gathered whole = std::move(gathered);
        open.erase(piece.episode);
        body(piece.episode, whole.values);
      }
    });
  }
}

}  // namespace flexor::curate
