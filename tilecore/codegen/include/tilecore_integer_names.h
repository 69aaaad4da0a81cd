// Names of integer types that a host's <stdint.h> and <sys/types.h> define, for source text of users where a device's
// compiler reads neither. A name may be declared again, as the same type.
#pragma once
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
#ifdef __INT64_TYPE__
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
#else
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef ptrdiff_t intptr_t;
typedef size_t uintptr_t;
#endif
