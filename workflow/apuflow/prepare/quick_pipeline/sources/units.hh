/**
 * What is known of each compute unit, so that a cycle in which nothing has changed costs little.
 *
 * gem5 looks at each wavefront's slot in each stage of each cycle. Here a stage looks again only
 * after something has changed that it looks at (changes.cc says when); cycles in between are
 * counted, and reach gem5's statistics before they are next written.
 */
#ifndef QUICK_PIPELINE_UNITS_HH
#define QUICK_PIPELINE_UNITS_HH

#include <cstdint>
#include <vector>

#include "gpu-compute/compute_unit.hh"
#include "gpu-compute/operand_info.hh"
#include "gpu-compute/scoreboard_check_stage.hh"
#include "gpu-compute/wavefront.hh"

namespace quick_pipeline
{

using namespace gem5;
using Scoreboard = ScoreboardCheckStage;

/** Registers of one kind that an instruction reads, then those it writes. */
struct Registers
{
    /** Matrix instructions have the most: 4 + 4 + 32 read, 32 written. */
    static constexpr int Most = 96;
    uint16_t index[Most];
    uint8_t read = 0;
    uint8_t all = 0;

    bool
    add(const std::vector<OperandInfo> &operands)
    {
        for (const auto &operand : operands) {
            for (int each : operand.physIndices()) {
                if (all == Most || each > UINT16_MAX)
                    return false;
                index[all++] = each;
            }
        }
        return true;
    }
};

/** What is known of the instruction that a wavefront issues next. */
struct Next
{
    enum State : uint8_t { Stale, Nothing, Known };
    State state = Stale;
    bool scalar = false;
    bool ends = false;
    bool oldest = false;
    int8_t unit = -1;
    Registers vector;
    Registers scalars;
};

/** A wavefront's slot. */
struct Slot
{
    Next next;
    bool fetch_stale = true;
    bool may_fetch = false;
};

/** A compute unit. */
struct Unit
{
    ComputeUnit *cu = nullptr;
    std::vector<Slot> slots;
    int waves = 0;

    /** Whether the scoreboard, the fetch stage may find something new. */
    bool changed = true;
    bool fetch_changed = true;
    /** Registers become free until then. */
    Tick registers_change = 0;
    /** Whether what the stages hand on is empty. */
    bool nothing_ready = false;
    bool nothing_dispatched = false;

    /** What the scoreboard found last, and cycles in which it was so. */
    unsigned found[Scoreboard::NRDY_CONDITIONS] = {};
    std::vector<statistics::Scalar *> blocked;
    uint64_t still = 0;
    /** Cycles in which nothing was scheduled, nothing executed. */
    uint64_t unscheduled = 0;
    uint64_t unexecuted = 0;

    Slot &
    operator()(int simd, int wave)
    {
        return slots[simd * waves + wave];
    }
};

/** What is known of a compute unit. */
Unit &unit_of(ComputeUnit &cu);

/** A wavefront may do something else than in the last cycle. */
void changed(const Wavefront &wave);

/** Adds the cycles in which the scoreboard found the same to gem5's statistics. */
void count_still(Unit &unit);

/** Whether gem5 writes a trace of its pipeline: then it does all itself. */
bool tracing();

} // namespace quick_pipeline

#endif
