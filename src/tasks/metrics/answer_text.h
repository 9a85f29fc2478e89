// What two answers are compared by: the normal forms of the SQuAD and TriviaQA scripts.
#pragma once

#include <string>
#include <string_view>

namespace longformer::tasks {

enum class AnswerRules {
  kSquad,     // lower case, ASCII punctuation removed, articles and extra white space too
  kTriviaQa,  // underscores, punctuation and four quotation marks become spaces instead
};
// `text` is valid UTF-8; words end up between single spaces.
std::string normal_answer(std::string_view text, AnswerRules rules);

// Words of two normal forms in common, as often as both have them: harmonic mean of their shares.
// 0 where there is none.
double word_f1(std::string_view normal_gold, std::string_view normal_predicted);

}  // namespace longformer::tasks
