# LONGFORMER_DEFAULT_MODEL: the name of the default model's directory below the cache, from tools/default_model.env.
set(default_model_file ${PROJECT_SOURCE_DIR}/tools/default_model.env)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${default_model_file})
file(STRINGS ${default_model_file} default_model_line REGEX "^DEFAULT_MODEL_NAME=")
string(REPLACE "DEFAULT_MODEL_NAME=" "" LONGFORMER_DEFAULT_MODEL "${default_model_line}")
if(NOT LONGFORMER_DEFAULT_MODEL MATCHES "^[a-z0-9-]+$")
  message(FATAL_ERROR "${default_model_file}: DEFAULT_MODEL_NAME must be one name of a-z, 0-9 and -")
endif()
