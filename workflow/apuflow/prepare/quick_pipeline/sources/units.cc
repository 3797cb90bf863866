#include "units.hh"

#include "base/compiler.hh"
#include "base/logging.hh"
#include "base/statistics.hh"
#include "debug/GPUExec.hh"
#include "debug/GPUFetch.hh"
#include "debug/GPUSRF.hh"
#include "debug/GPUSched.hh"
#include "debug/GPUSync.hh"
#include "debug/GPUVRF.hh"
#include "gpu-compute/shader.hh"

namespace quick_pipeline
{

bool
tracing()
{
    static const bool traced = debug::GPUExec || debug::GPUSched ||
        debug::GPUSync || debug::GPUVRF || debug::GPUSRF || debug::GPUFetch;
    return traced;
}

namespace
{

/** By the number of the compute unit. */
std::vector<Unit> units;

} // anonymous namespace

void
count_still(Unit &unit)
{
    if (!unit.still)
        return;
    auto &stalls = unit.cu->scoreboardCheckStage.stats.stallCycles;
    for (int status = 0; status < Scoreboard::NRDY_CONDITIONS; ++status)
        if (unit.found[status])
            stalls[status] += unit.found[status] * unit.still;
    for (auto *times : unit.blocked)
        *times += unit.still;
    unit.still = 0;
}

namespace
{

/** Statistics of cycles in which nothing happened. */
void
count_all()
{
    for (Unit &unit : units) {
        if (!unit.cu)
            continue;
        count_still(unit);
        auto &schedule = unit.cu->scheduleStage.stats;
        auto &execute = unit.cu->execStage.stats;
        for (int each = 0; each < unit.cu->numExeUnits(); ++each) {
            if (unit.unscheduled) {
                schedule.rdyListEmpty[each] += unit.unscheduled;
                schedule.schListToDispListStalls[each] += unit.unscheduled;
            }
            if (unit.unexecuted)
                execute.numCyclesWithNoInstrTypeIssued[each] +=
                    unit.unexecuted;
        }
        if (unit.unexecuted) {
            execute.numCyclesWithNoIssue += unit.unexecuted;
            execute.spc.sample(0, unit.unexecuted);
        }
        unit.unscheduled = unit.unexecuted = 0;
    }
}

void
forget_all()
{
    for (Unit &unit : units)
        unit.still = unit.unscheduled = unit.unexecuted = 0;
}

} // anonymous namespace

Unit &
unit_of(ComputeUnit &cu)
{
    if (GEM5_UNLIKELY(units.empty())) {
        statistics::registerDumpCallback(count_all);
        statistics::registerResetCallback(forget_all);
    }
    if (GEM5_UNLIKELY(size_t(cu.cu_id) >= units.size()))
        units.resize(cu.cu_id + 1);
    Unit &unit = units[cu.cu_id];
    if (GEM5_UNLIKELY(unit.cu != &cu)) {
        panic_if(unit.cu, "two compute units have number %d", cu.cu_id);
        unit.cu = &cu;
        unit.waves = cu.shader->n_wf;
        unit.slots.resize(cu.wfList.size() * unit.waves);
    }
    return unit;
}

void
changed(const Wavefront &wave)
{
    Unit &unit = unit_of(*wave.computeUnit);
    Slot &slot = unit(wave.simdId, wave.wfSlotId);
    slot.next.state = Next::Stale;
    slot.fetch_stale = true;
    unit.changed = unit.fetch_changed = true;
}

} // namespace quick_pipeline
