// Names of the files of a training's log, in the directory of the run.
#pragma once

namespace longformer::train {

inline constexpr const char* kLogFile = "metrics.jsonl";
inline constexpr const char* kCsvFile = "metrics.csv";
inline constexpr const char* kEventsPrefix = "events.out.tfevents.";

}  // namespace longformer::train
