// Stands in for cuBLASLt's header: LibTorch's headers only pass these on. Keeps a download of hundreds of megabytes out
// of the build; nothing of cuBLASLt is called here.
#pragma once
typedef struct cublasLtContext* cublasLtHandle_t;
