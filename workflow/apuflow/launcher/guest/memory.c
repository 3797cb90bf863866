#include "memory.h"
#include "kfd.h"

uint8_t *gpu_pages(int kfd, const struct device *device, uint64_t bytes)
{
    uint8_t *pages = map_pages(bytes);
    if (device->discrete)
        kfd_register(kfd, device, pages, ROUND_UP(bytes, PAGE));
    return pages;
}

/* C. Wellons's "lowbias32" integer hash over a golden-ratio sequence: any element can be computed alone. */
uint32_t mix(uint32_t seed, uint32_t index)
{
    uint32_t x = seed + index * 0x9e3779b9U;
    x = (x ^ x >> 16) * 0x7feb352dU;
    x = (x ^ x >> 15) * 0x846ca68bU;
    return x ^ x >> 16;
}

static uint32_t uniform_bits(uint32_t seed, uint32_t index)
{
    union { float number; uint32_t bits; } value;
    value.number = (float)(mix(seed, index) >> 8) * 0x1p-24F;
    return value.bits;
}

static void fill_words(struct buffer *buffer, uint32_t value)
{
    uint32_t *words = (uint32_t *)buffer->data;
    for (uint64_t i = 0; i < buffer->bytes / 4; i++)
        words[i] = value;
}

void fill_buffer(struct buffer *buffer, const char *data_path, const struct span *data)
{
    uint32_t *words = (uint32_t *)buffer->data;
    switch (buffer->fill) {
    case FILL_UNTOUCHED:
        break;
    case FILL_TOUCH:
        for (uint64_t i = 0; i < buffer->bytes; i += PAGE)
            *(volatile uint8_t *)(buffer->data + i) = 0;
        break;
    case FILL_ZERO:
        fill_words(buffer, 0);
        break;
    case FILL_CONSTANT:
        fill_words(buffer, (uint32_t)buffer->first);
        break;
    case FILL_UNIFORM:
        for (uint64_t i = 0; i < buffer->bytes / 4; i++)
            words[i] = uniform_bits((uint32_t)buffer->first, (uint32_t)i);
        break;
    case FILL_MODULO:
        for (uint64_t i = 0; i < buffer->bytes; i++)
            buffer->data[i] = (uint8_t)(mix((uint32_t)buffer->first, (uint32_t)i) % buffer->second);
        break;
    case FILL_INDICES:
        for (uint64_t i = 0; i < buffer->bytes / 4; i++)
            words[i] = mix((uint32_t)buffer->first, (uint32_t)i) % (uint32_t)buffer->second;
        break;
    case FILL_FILE:
        memcpy(buffer->data, data->data + buffer->first, buffer->bytes);
        break;
    case FILL_LOADED:
        read_part(data_path, buffer->first, buffer->data, buffer->bytes);
        break;
    }
}

void place_pointer(const struct pointer *pointer)
{
    uint64_t address = (uint64_t)pointer->to->data + pointer->offset;
    uint8_t *at = (pointer->object ? pointer->object->image : pointer->buffer->data) + pointer->place;
    memcpy(at, &address, sizeof address);
}

void check_finite(const struct list *list, const struct action *action)
{
    const uint32_t *words = (const uint32_t *)action->buffer->data;
    for (uint64_t i = 0; i < action->buffer->bytes / 4; i++)
        if ((words[i] & 0x7f800000) == 0x7f800000)
            fail(EXIT_CHECK, list->path, ":", decimal(action->line), ": buffer ", action->buffer->name, ": element ",
                 decimal(i), " is not finite (", hexadecimal(words[i]), ")", NULL);
}
