/* memmove, memset and memcmp of C11, 7.24, with 16 bytes at a time (SSE2, which each x86-64 has).
 *
 * Pieces of up to 128 bytes are read as a whole before they are written, by two reads from each end that may
 * overlap; so their areas may overlap too, and no loop has a rest. */
#include <emmintrin.h>
#include <stddef.h>
#include <stdint.h>

typedef uint16_t __attribute__((may_alias, aligned(1))) two;
typedef uint32_t __attribute__((may_alias, aligned(1))) four;
typedef uint64_t __attribute__((may_alias, aligned(1))) eight;

static inline __m128i get(const uint8_t *at) { return _mm_loadu_si128((const __m128i *)at); }
static inline void put(uint8_t *at, __m128i value) { _mm_storeu_si128((__m128i *)at, value); }

/* Up to 16 bytes. */
static inline void move_few(uint8_t *to, const uint8_t *from, size_t n) {
    if (n >= 8) {
        uint64_t first = *(const eight *)from, last = *(const eight *)(from + n - 8);
        *(eight *)to = first;
        *(eight *)(to + n - 8) = last;
    } else if (n >= 4) {
        uint32_t first = *(const four *)from, last = *(const four *)(from + n - 4);
        *(four *)to = first;
        *(four *)(to + n - 4) = last;
    } else if (n >= 2) {
        uint16_t first = *(const two *)from, last = *(const two *)(from + n - 2);
        *(two *)to = first;
        *(two *)(to + n - 2) = last;
    } else if (n == 1) {
        *to = *from;
    }
}

/* 64 bytes, all read before the first is written. */
static inline void move_block(uint8_t *to, const uint8_t *from) {
    __m128i a = get(from), b = get(from + 16), c = get(from + 32), d = get(from + 48);
    put(to, a), put(to + 16, b), put(to + 32, c), put(to + 48, d);
}

/* More than 128 bytes. The end that the loop would leave is read first: the loop may write over it. */
static void move_many(uint8_t *to, const uint8_t *from, size_t n) {
    if ((uintptr_t)to - (uintptr_t)from >= n) {
        const uint8_t *end = from + n;
        __m128i a = get(end - 64), b = get(end - 48), c = get(end - 32), d = get(end - 16);
        for (size_t at = 0; at < n - 64; at += 64) move_block(to + at, from + at);
        to += n;
        put(to - 64, a), put(to - 48, b), put(to - 32, c), put(to - 16, d);
    } else {
        __m128i a = get(from), b = get(from + 16), c = get(from + 32), d = get(from + 48);
        for (size_t at = n; at > 64; at -= 64) move_block(to + at - 64, from + at - 64);
        put(to, a), put(to + 16, b), put(to + 32, c), put(to + 48, d);
    }
}

void *runnel_memmove(void *target, const void *source, size_t n) {
    uint8_t *to = target;
    const uint8_t *from = source;
    if (n <= 16) {
        move_few(to, from, n);
    } else if (n <= 32) {
        __m128i first = get(from), last = get(from + n - 16);
        put(to, first), put(to + n - 16, last);
    } else if (n <= 64) {
        __m128i a = get(from), b = get(from + 16), c = get(from + n - 32), d = get(from + n - 16);
        put(to, a), put(to + 16, b), put(to + n - 32, c), put(to + n - 16, d);
    } else if (n <= 128) {
        const uint8_t *end = from + n;
        __m128i a = get(from), b = get(from + 16), c = get(from + 32), d = get(from + 48);
        __m128i e = get(end - 64), f = get(end - 48), g = get(end - 32), h = get(end - 16);
        put(to, a), put(to + 16, b), put(to + 32, c), put(to + 48, d);
        to += n;
        put(to - 64, e), put(to - 48, f), put(to - 32, g), put(to - 16, h);
    } else {
        move_many(to, from, n);
    }
    return target;
}

void *runnel_memset(void *target, int byte, size_t n) {
    uint8_t *to = target;
    uint64_t word = (uint8_t)byte * 0x0101010101010101u;
    if (n >= 16) {
        __m128i all = _mm_set1_epi8((char)byte);
        for (size_t at = 0; at < n - 16; at += 16) put(to + at, all);
        put(to + n - 16, all);
    } else if (n >= 8) {
        *(eight *)to = word;
        *(eight *)(to + n - 8) = word;
    } else if (n >= 4) {
        *(four *)to = (uint32_t)word;
        *(four *)(to + n - 4) = (uint32_t)word;
    } else if (n >= 2) {
        *(two *)to = (uint16_t)word;
        *(two *)(to + n - 2) = (uint16_t)word;
    } else if (n == 1) {
        *to = (uint8_t)byte;
    }
    return target;
}

/* The first byte of the lowest address decides, so it must be the highest of the number. */
static inline int order(uint64_t left, uint64_t right) {
    left = __builtin_bswap64(left), right = __builtin_bswap64(right);
    return (left > right) - (left < right);
}

int runnel_memcmp(const void *one, const void *other, size_t n) {
    const uint8_t *left = one, *right = other;
    if (n >= 16) {
        for (size_t at = 0;; at = at + 32 > n ? n - 16 : at + 16) {
            unsigned same = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(get(left + at), get(right + at)));
            if (same != 0xffff) {
                at += (size_t)__builtin_ctz(~same);
                return left[at] - right[at];
            }
            if (at + 16 == n) return 0;
        }
    }
    if (n >= 8) {
        int first = order(*(const eight *)left, *(const eight *)right);
        return first ? first : order(*(const eight *)(left + n - 8), *(const eight *)(right + n - 8));
    }
    if (n >= 4) {
        int first = order(*(const four *)left, *(const four *)right);
        return first ? first : order(*(const four *)(left + n - 4), *(const four *)(right + n - 4));
    }
    for (size_t at = 0; at < n; at++) {
        if (left[at] != right[at]) return left[at] - right[at];
    }
    return 0;
}

#ifdef NAMES_OF_C
void *memmove(void *, const void *, size_t) __attribute__((alias("runnel_memmove")));
void *memcpy(void *restrict, const void *restrict, size_t) __attribute__((alias("runnel_memmove")));
void *memset(void *, int, size_t) __attribute__((alias("runnel_memset")));
int memcmp(const void *, const void *, size_t) __attribute__((alias("runnel_memcmp")));
int bcmp(const void *, const void *, size_t) __attribute__((alias("runnel_memcmp")));
#endif
