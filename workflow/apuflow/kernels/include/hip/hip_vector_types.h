/* float4 and its like: 1 to 4 elements, those of 2 and 4 aligned to their size, as HIP has them. */
#ifndef APUFLOW_HIP_VECTOR_TYPES_H
#define APUFLOW_HIP_VECTOR_TYPES_H
#include "hip_runtime.h"

#define APUFLOW_BOTH __host__ __device__ __forceinline__
#define APUFLOW_VECTOR(type, name, count, alignment, parameters, values, equal, ...) \
    struct alignas(alignment) name { \
        typedef type value_type; \
        type __VA_ARGS__; \
        name() = default; \
        APUFLOW_BOTH constexpr name parameters : values {} \
        APUFLOW_BOTH type &operator[](int i) { return (&x)[i]; } \
        APUFLOW_BOTH const type &operator[](int i) const { return (&x)[i]; } \
        static constexpr int elements = count; \
    }; \
    APUFLOW_ARITHMETIC(type, name, +) \
    APUFLOW_ARITHMETIC(type, name, -) \
    APUFLOW_ARITHMETIC(type, name, *) \
    APUFLOW_ARITHMETIC(type, name, /) \
    APUFLOW_BOTH bool operator==(const name &a, const name &b) { return equal; } \
    APUFLOW_BOTH bool operator!=(const name &a, const name &b) { return !(a == b); } \
    APUFLOW_BOTH constexpr name make_##name parameters { return name APUFLOW_GIVEN##count; }
#define APUFLOW_ARITHMETIC(type, name, sign) \
    APUFLOW_BOTH name &operator sign##=(name &a, const name &b) \
    { \
        for (int i = 0; i < name::elements; i++) \
            a[i] = (type)(a[i] sign b[i]); \
        return a; \
    } \
    APUFLOW_BOTH name &operator sign##=(name &a, type b) \
    { \
        for (int i = 0; i < name::elements; i++) \
            a[i] = (type)(a[i] sign b); \
        return a; \
    } \
    APUFLOW_BOTH name operator sign(name a, const name &b) { return a sign##= b; } \
    APUFLOW_BOTH name operator sign(name a, type b) { return a sign##= b; } \
    APUFLOW_BOTH name operator sign(type a, const name &b) \
    { \
        name made; \
        for (int i = 0; i < name::elements; i++) \
            made[i] = (type)(a sign b[i]); \
        return made; \
    }
#define APUFLOW_COMMA ,
#define APUFLOW_GIVEN1 (x_)
#define APUFLOW_GIVEN2 (x_, y_)
#define APUFLOW_GIVEN3 (x_, y_, z_)
#define APUFLOW_GIVEN4 (x_, y_, z_, w_)
#define APUFLOW_VECTORS(type, name) \
    APUFLOW_VECTOR(type, name##1, 1, sizeof(type), (type x_), x(x_), a.x == b.x, x) \
    APUFLOW_VECTOR(type, name##2, 2, 2 * sizeof(type), (type x_, type y_), x(x_) APUFLOW_COMMA y(y_), \
                   a.x == b.x && a.y == b.y, x, y) \
    APUFLOW_VECTOR(type, name##3, 3, sizeof(type), (type x_, type y_, type z_), \
                   x(x_) APUFLOW_COMMA y(y_) APUFLOW_COMMA z(z_), a.x == b.x && a.y == b.y && a.z == b.z, x, y, z) \
    APUFLOW_VECTOR(type, name##4, 4, 4 * sizeof(type), (type x_, type y_, type z_, type w_), \
                   x(x_) APUFLOW_COMMA y(y_) APUFLOW_COMMA z(z_) APUFLOW_COMMA w(w_), \
                   a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w, x, y, z, w)
APUFLOW_VECTORS(signed char, char)
APUFLOW_VECTORS(unsigned char, uchar)
APUFLOW_VECTORS(short, short)
APUFLOW_VECTORS(unsigned short, ushort)
APUFLOW_VECTORS(int, int)
APUFLOW_VECTORS(unsigned int, uint)
APUFLOW_VECTORS(long, long)
APUFLOW_VECTORS(unsigned long, ulong)
APUFLOW_VECTORS(long long, longlong)
APUFLOW_VECTORS(unsigned long long, ulonglong)
APUFLOW_VECTORS(float, float)
APUFLOW_VECTORS(double, double)

#endif
