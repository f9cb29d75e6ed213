// Stands in for cuSOLVER's header: LibTorch's headers only pass these on. Keeps a download of hundreds of megabytes out
// of the build; nothing of cuSOLVER is called here.
#pragma once
enum cusolverStatus_t : unsigned;
