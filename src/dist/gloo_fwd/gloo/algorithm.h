#pragma once
// Nothing of it is used; see context.h.
