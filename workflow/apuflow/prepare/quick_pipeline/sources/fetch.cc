// Which wavefronts fetch and decode instructions (fetch_stage.cc, fetch_unit.cc).
#include "base/compiler.hh"
#include "gpu-compute/fetch_stage.hh"
#include "gpu-compute/fetch_unit.hh"
#include "gpu-compute/gpu_dyn_inst.hh"
#include "gpu-compute/gpu_static_inst.hh"
#include "units.hh"
#include "wrap.hh"

using namespace quick_pipeline;

namespace
{

inline bool
may_jump(const Wavefront &wave)
{
    for (const auto &dynamic : wave.instructionBuffer) {
        const GPUStaticInst &inst = *dynamic->_staticInst;
        if (inst.isReturn() || inst.isBranch() || inst.isEndOfKernel())
            return true;
    }
    return false;
}

/** Whether it has done anything. */
bool
release_and_decode(FetchUnit::FetchBufDesc &buffer)
{
    bool done = false;
    if (!buffer.hasFreeSpace()) {
        buffer.checkWaveReleaseBuf();
        done = buffer.hasFreeSpace();
    }
    if (buffer.hasFetchDataToProcess()) {
        const auto &instructions = buffer.wavefront->instructionBuffer;
        const size_t before = instructions.size();
        buffer.decodeInsts();
        done = done || instructions.size() != before;
    }
    return done;
}

/** Whether the next cycle may bring something new by itself. */
bool
fetch(FetchUnit &stage, Slot *slots)
{
    bool again = false;
    const size_t waves = stage.fetchStatusQueue.size();
    for (size_t wave = 0; wave < waves; ++wave) {
        Slot &slot = slots[wave];
        auto &entry = stage.fetchStatusQueue[wave];
        if (slot.fetch_stale) {
            auto &buffer = stage.fetchBuf[wave];
            slot.fetch_stale = release_and_decode(buffer);
            if (slot.fetch_stale) {
                slot.next.state = Next::Stale;
                again = true;
            }
            slot.may_fetch = buffer.hasFreeSpace() && !may_jump(*entry.first);
        }
        if (!slot.may_fetch || entry.second)
            continue;
        const auto status = entry.first->status;
        if ((status == Wavefront::S_RUNNING ||
             status == Wavefront::S_WAITCNT) && !entry.first->pendingFetch) {
            stage.fetchQueue.push_back(entry.first);
            entry.second = true;
        }
    }
    if (!stage.fetchQueue.empty()) {
        Wavefront *wave = stage.fetchScheduler.chooseWave();
        wave->pendingFetch = true;
        stage.fetchStatusQueue[wave->wfSlotId].second = false;
        stage.initiateFetch(wave);
        slots[wave->wfSlotId].fetch_stale = true;
        again = true;
    }
    return again;
}

} // anonymous namespace

WRAP(void, _ZN4gem510FetchStage4execEv, FetchStage *stage)
{
    if (GEM5_UNLIKELY(tracing()))
        return __real__ZN4gem510FetchStage4execEv(stage);

    Unit &unit = unit_of(stage->computeUnit);
    if (!unit.fetch_changed)
        return;
    unit.fetch_changed = false;
    for (size_t simd = 0; simd < stage->_fetchUnit.size(); ++simd) {
        if (fetch(stage->_fetchUnit[simd], &unit(simd, 0)))
            unit.changed = unit.fetch_changed = true;
    }
}
