// Stands in for cuSPARSE's header: LibTorch's headers only pass these on. Keeps a download of hundreds of megabytes out
// of the build; nothing of cuSPARSE is called here.
#pragma once
enum cusparseStatus_t : unsigned;
typedef struct cusparseContext* cusparseHandle_t;
