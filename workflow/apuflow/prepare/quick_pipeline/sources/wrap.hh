/**
 * A function in the place of one of gem5's.
 *
 * The linker sends calls of SYMBOL (its mangled name) to __wrap_SYMBOL, and calls of
 * __real_SYMBOL to gem5's own. A member function takes its object as first argument.
 */
#ifndef QUICK_PIPELINE_WRAP_HH
#define QUICK_PIPELINE_WRAP_HH

#define WRAP(result, symbol, ...) \
    extern "C" result __real_##symbol(__VA_ARGS__); \
    extern "C" result __wrap_##symbol(__VA_ARGS__)

#endif
