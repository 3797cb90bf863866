// Which wavefronts can issue their next instruction (scoreboard_check_stage.cc).
#include <algorithm>

#include "base/compiler.hh"
#include "base/logging.hh"
#include "gpu-compute/gpu_dyn_inst.hh"
#include "gpu-compute/gpu_static_inst.hh"
#include "gpu-compute/scalar_register_file.hh"
#include "gpu-compute/vector_register_file.hh"
#if __has_include("gpu-compute/register_file_cache.hh")
#include "gpu-compute/register_file_cache.hh"
#define HAS_REGISTER_FILE_CACHE 1
#endif
#include "units.hh"
#include "wrap.hh"

using namespace quick_pipeline;

namespace
{

/** Looks up the instruction that a wavefront issues next, with all that says when it can. */
void
look_up(Scoreboard &stage, Wavefront &wave, Next &next)
{
    const auto &buffer = wave.instructionBuffer;
    const GPUDynInst *dynamic = nullptr;
    next.oldest = false;
    next.vector.read = next.vector.all = 0;
    next.scalars.read = next.scalars.all = 0;
    if (!buffer.empty()) {
        const auto &issued = stage.computeUnit.pipeMap;
        dynamic = buffer[0].get();
        next.oldest = true;
        if (issued.count(dynamic->_seqNum)) {
            dynamic = buffer.size() > 1 ? buffer[1].get() : nullptr;
            next.oldest = false;
        }
    }
    next.state = dynamic ? Next::Known : Next::Nothing;
    if (!dynamic)
        return;
    const GPUStaticInst &inst = *dynamic->_staticInst;
    next.scalar = inst.isScalar();
    next.ends = inst.isEndOfKernel();
    next.unit = stage.mapWaveToExeUnit(&wave);
    bool fits = next.scalars.add(inst.srcScalarRegOps);
    next.scalars.read = next.scalars.all;
    fits = fits && next.scalars.add(inst.dstScalarRegOps);
    if (!next.scalar) {
        fits = fits && next.vector.add(inst.srcVecRegOps);
        next.vector.read = next.vector.all;
        fits = fits && next.vector.add(inst.dstVecRegOps);
    }
    panic_if(!fits, "%s has too many registers", dynamic->disassemble());
}

/**
 * Whether no register is busy; if one is, the wavefront counts as blocked.
 *
 * @param both Registers that are written are looked at after a busy one that is read, too.
 */
template <class Busy>
inline bool
are_free(const Registers &registers, Wavefront &wave, Unit &unit, bool both,
         Busy busy)
{
    const uint16_t *first = registers.index;
    const uint16_t *written = first + registers.read;
    const uint16_t *end = first + registers.all;
    const bool reads = std::any_of(first, written, busy);
    if (reads) {
        unit.blocked.push_back(&wave.stats.numTimesBlockedDueRAWDependencies);
        if (!both)
            return false;
    }
    const bool writes = std::any_of(written, end, busy);
    if (writes)
        unit.blocked.push_back(&wave.stats.numTimesBlockedDueWAXDependencies);
    return !reads && !writes;
}

inline bool
vectors_free(const VectorRegisterFile &file, Wavefront &wave, Unit &unit,
             const Registers &registers)
{
#ifdef HAS_REGISTER_FILE_CACHE
    RegisterFileCache &cache = *file.computeUnit->rfc[file.simdId];
    return are_free(registers, wave, unit, true, [&](int index) {
        return file.busy[index] && !cache.inRFC(index);
    });
#else
    return are_free(registers, wave, unit, false,
                    [&](int index) { return bool(file.busy[index]); });
#endif
}

inline bool
scalars_free(const ScalarRegisterFile &file, Wavefront &wave, Unit &unit,
             const Registers &registers)
{
    return are_free(registers, wave, unit, false,
                    [&](int index) { return bool(file.busy[index]); });
}

inline bool
waits(const Wavefront &wave)
{
    if (wave.vmWaitCnt == -1 && wave.expWaitCnt == -1 &&
        wave.lgkmWaitCnt == -1)
        return true;
    return (wave.vmWaitCnt != -1 && wave.vmemInstsIssued > wave.vmWaitCnt) ||
        (wave.expWaitCnt != -1 && wave.expInstsIssued > wave.expWaitCnt) ||
        (wave.lgkmWaitCnt != -1 && wave.lgkmInstsIssued > wave.lgkmWaitCnt);
}

inline Scoreboard::nonrdytype_e
check(Scoreboard &stage, Unit &unit, Wavefront &wave, Next &next)
{
    ComputeUnit &cu = stage.computeUnit;
    switch (wave.status) {
      case Wavefront::S_STOPPED:
      case Wavefront::S_RETURNING:
      case Wavefront::S_STALLED:
        return Scoreboard::NRDY_WF_STOP;
      case Wavefront::S_WAITCNT:
        if (waits(wave))
            return Scoreboard::NRDY_WAIT_CNT;
        wave.waitCntsSatisfied();
        break;
      case Wavefront::S_STALLED_SLEEP:
        unit.changed = unit.fetch_changed = true;
        if (!wave.sleepDone())
            return Scoreboard::NRDY_SLEEP;
        break;
      case Wavefront::S_BARRIER: {
        int barrier = wave.barrierId();
        if (!cu.allAtBarrier(barrier))
            return Scoreboard::NRDY_BARRIER_WAIT;
        cu.resetBarrier(barrier);
        cu.releaseWFsFromBarrier(barrier);
        break;
      }
      default:
        break;
    }

    if (next.state == Next::Stale)
        look_up(stage, wave, next);
    if (next.state == Next::Nothing)
        return Scoreboard::NRDY_IB_EMPTY;
    if (!next.scalar &&
        !vectors_free(*cu.vrf[wave.simdId], wave, unit, next.vector))
        return Scoreboard::NRDY_VGPR_NRDY;
    if (!scalars_free(*cu.srf[wave.simdId], wave, unit, next.scalars))
        return Scoreboard::NRDY_SGPR_NRDY;
    if (next.ends) {
        if (!next.oldest)
            return Scoreboard::NRDY_WAIT_CNT;
        wave.setStatus(Wavefront::S_WAITCNT);
        wave.setWaitCnts(0, 0, 0);
        if (!wave.waitCntsSatisfied())
            return Scoreboard::NRDY_WAIT_CNT;
    }
    return Scoreboard::INST_RDY;
}

} // anonymous namespace

WRAP(void, _ZN4gem520ScoreboardCheckStage4execEv, Scoreboard *stage)
{
    if (GEM5_UNLIKELY(tracing()))
        return __real__ZN4gem520ScoreboardCheckStage4execEv(stage);

    ComputeUnit &cu = stage->computeUnit;
    Unit &unit = unit_of(cu);
    if (!unit.changed && curTick() > unit.registers_change) {
        ++unit.still;
        return;
    }
    count_still(unit);
    unit.changed = false;
    unit.blocked.clear();
    std::fill(std::begin(unit.found), std::end(unit.found), 0);
    if (!unit.nothing_ready)
        stage->toSchedule.reset();
    Slot *slot = unit.slots.data();
    for (const auto &simd : cu.wfList) {
        for (Wavefront *wave : simd) {
            auto status = check(*stage, unit, *wave, slot->next);
            ++unit.found[status];
            if (status == Scoreboard::INST_RDY)
                stage->toSchedule._readyWFs[slot->next.unit].push_back(wave);
            ++slot;
        }
    }
    unit.still = 1;
    unit.nothing_ready = !unit.found[Scoreboard::INST_RDY];
    if (!unit.nothing_ready)
        unit.changed = true;
}
