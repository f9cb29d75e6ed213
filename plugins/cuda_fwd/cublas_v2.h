// Stands in for cuBLAS's header: LibTorch's headers only pass these on. Keeps a download of hundreds of megabytes out
// of the build; nothing of cuBLAS is called here.
#pragma once
enum cublasStatus_t : unsigned;
typedef struct cublasContext* cublasHandle_t;
