// What the environment says of the hub: where its cache lies, which server, which token. The
// variables of huggingface_hub, with its precedence, so that both programs share one cache.
#pragma once

#include <filesystem>
#include <string>

namespace longformer::io {

// HF_HUB_CACHE, else HUGGINGFACE_HUB_CACHE, else HF_HOME/hub, where HF_HOME is by default
// XDG_CACHE_HOME/huggingface or ~/.cache/huggingface. "~/", $NAME and ${NAME} are expanded. Throws
// kNotFound when no variable names a place.
std::filesystem::path hub_cache_directory();

// HF_ENDPOINT without a slash at its end, else https://huggingface.co.
std::string hub_endpoint();

// HF_TOKEN, else HUGGING_FACE_HUB_TOKEN, else the file HF_TOKEN_PATH or HF_HOME/token; empty where
// there is none or HF_HUB_DISABLE_IMPLICIT_TOKEN is set. Throws kInvalidArgument, without the
// token, when it could not stand in a request.
std::string hub_token();

// HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is 1, on, yes or true.
bool hub_is_offline();

// A file of certificates to trust instead of the system's: REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE or
// SSL_CERT_FILE; empty where none is set.
std::string hub_certificates();

// HF_HUB_DOWNLOAD_TIMEOUT: seconds without data after which a connection counts as broken, 1 to
// 3600; 30 where it is absent. Throws kInvalidArgument for anything else.
int hub_stall_seconds();

}  // namespace longformer::io
