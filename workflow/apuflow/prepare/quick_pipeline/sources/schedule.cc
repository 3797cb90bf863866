// Which instructions read their operands and go to an execution unit (schedule_stage.cc, exec_stage.cc).
#include <algorithm>

#include "base/compiler.hh"
#include "gpu-compute/exec_stage.hh"
#include "gpu-compute/gpu_dyn_inst.hh"
#include "gpu-compute/gpu_static_inst.hh"
#include "gpu-compute/schedule_stage.hh"
#include "units.hh"
#include "wrap.hh"

using namespace quick_pipeline;

namespace
{

/** Leaves those of a unit's ready wavefronts that have an instruction to issue. */
void
candidates(ScheduleStage &stage, std::vector<Wavefront *> &ready)
{
    const auto &issued = stage.wavesInSch;
    ready.erase(std::remove_if(ready.begin(), ready.end(),
        [&issued](Wavefront *wave) {
            return wave->instructionBuffer.empty() ||
                issued.count(wave->wfDynId);
        }), ready.end());
}

/** Has one of a unit's ready wavefronts read its operands. */
void
choose(ScheduleStage &stage, Unit &state, int unit, bool memory)
{
    auto &ready = stage.fromScoreboardCheck._readyWFs[unit];
    if (ready.empty()) {
        stage.stats.rdyListEmpty[unit]++;
        return;
    }
    stage.stats.rdyListNotEmpty[unit]++;
    Wavefront *wave = stage.scheduler[unit].chooseWave();
    const GPUDynInstPtr &chosen = wave->instructionBuffer.front();
    const GPUStaticInst &inst = *chosen->_staticInst;
    if (!stage.addToSchList(unit, chosen)) {
        wave->stats.schCycles++;
        stage.stats.addToSchListStalls[unit]++;
        return;
    }
    state(wave->simdId, wave->wfSlotId).next.state = Next::Stale;
    state.changed = true;
    if (!memory)
        return;
    if (inst.isScalar() || inst.isGroupSeg()) {
        wave->incLGKMInstsIssued();
    } else {
        wave->incVMemInstsIssued();
        if (inst.isFlat())
            wave->incLGKMInstsIssued();
    }
    if (inst.isStore() && inst.isGlobalSeg())
        wave->incExpInstsIssued();
}

/** As dispatchReady() of gem5, for what is issued most. */
bool
dispatches(ScheduleStage &stage, const GPUDynInstPtr &dynamic)
{
    const GPUStaticInst &inst = *dynamic->_staticInst;
    const bool end = inst.isEndOfKernel(), nop = inst.isNop();
    const bool computes =
        inst.isBarrier() || inst.isBranch() || inst.isALU();
    ComputeUnit &cu = stage.computeUnit;
    const Wavefront &wave = *dynamic->wf;
    auto &stalls = stage.stats.dispNrdyStalls;
    if (nop || end || computes) {
        if (inst.isScalar()) {
            if (!cu.scalarALUs[wave.scalarAlu].rdy(Cycles(1))) {
                stalls[ScheduleStage::SCH_SCALAR_ALU_NRDY]++;
                return false;
            }
        } else if ((nop || !end) &&
                   !cu.vectorALUs[wave.simdId].rdy(Cycles(1))) {
            stalls[ScheduleStage::SCH_VECTOR_ALU_NRDY]++;
            return false;
        }
    } else if (!inst.isScalar() && inst.isGlobalMem() && !inst.isFlat()) {
        bool ready = true;
        auto needs = [&](bool holds, int otherwise) {
            if (!holds) {
                stalls[otherwise]++;
                ready = false;
            }
        };
        needs(stage.glbMemIssueRdy, ScheduleStage::SCH_VECTOR_MEM_ISSUE_NRDY);
        needs(stage.glbMemBusRdy,
              ScheduleStage::SCH_VECTOR_MEM_BUS_BUSY_NRDY);
        needs(cu.getTokenManager()->haveTokens(1),
              ScheduleStage::SCH_VECTOR_MEM_COALESCER_NRDY);
        needs(wave.outstandingReqsRdGm + wave.outstandingReqsWrGm <
                  cu.globalMemoryPipe.maxWaveRequests,
              ScheduleStage::SCH_VECTOR_MEM_REQS_NRDY);
        if (!ready)
            return false;
    } else {
        return stage.dispatchReady(dynamic);
    }
    stalls[ScheduleStage::SCH_RDY]++;
    return true;
}

template <class Inst>
auto
takes_token(const Inst &inst, int) -> decltype(inst.needsToken())
{
    return inst.needsToken();
}

template <class Inst>
bool
takes_token(const Inst &inst, long)
{
    return inst.isGlobalMem() || inst.isFlat();
}

/** Has each unit take the oldest wavefront that it can execute. */
void
dispatch(ScheduleStage &stage)
{
    stage.checkMemResources();
    const int units = stage.schList.size();
    for (int unit = 0; unit < units; ++unit) {
        auto &list = stage.schList[unit];
        bool taken = false;
        for (auto entry = list.begin(); entry != list.end();) {
            const bool ready = dispatches(stage, entry->first);
            if (!ready || taken) {
                auto &stats = entry->first->wf->stats;
                stats.schStalls++;
                if (!ready)
                    stats.schResourceStalls++;
                ++entry;
                continue;
            }
            GPUDynInst &inst = *entry->first;
            if (!inst.isMemSync() && !inst.isScalar() && takes_token(inst, 0))
                stage.computeUnit.globalMemoryPipe.acqCoalescerToken(
                    entry->first);
            if (inst.isMemRef())
                inst.exec_mask = inst.wf->execMask();
            stage.doDispatchListTransition(unit, EXREADY, entry->first);
            entry = list.erase(entry);
            taken = true;
        }
        if (taken)
            stage.stats.schListToDispList[unit]++;
        else
            stage.stats.schListToDispListStalls[unit]++;
    }
}

} // anonymous namespace

WRAP(void, _ZN4gem513ScheduleStage4execEv, ScheduleStage *stage)
{
    if (GEM5_UNLIKELY(tracing()))
        return __real__ZN4gem513ScheduleStage4execEv(stage);

    ComputeUnit &cu = stage->computeUnit;
    Unit &state = unit_of(cu);
    if (!state.nothing_dispatched)
        stage->toExecute.reset();
    const int units = stage->schList.size();
    bool idle = true;
    for (int unit = 0; unit < units; ++unit) {
        auto &ready = stage->fromScoreboardCheck._readyWFs[unit];
        if (!ready.empty())
            candidates(*stage, ready);
        idle = idle && ready.empty() && stage->schList[unit].empty();
    }
    state.nothing_dispatched = idle;
    if (idle) {
        ++state.unscheduled;
        return;
    }

    const int first = cu.firstMemUnit();
    for (int unit = first; unit < units; ++unit)
        choose(*stage, state, unit, true);
    for (int unit = 0; unit < first; ++unit)
        choose(*stage, state, unit, false);

    // Operands are read at once: no register file of gem5 says otherwise.
    for (auto &list : stage->schList) {
        for (auto &entry : list) {
            entry.first->wf->stats.schCycles++;
            entry.second = ScheduleStage::RFREADY;
        }
    }

    dispatch(*stage);
    stage->arbitrateVrfToLdsBus();
    stage->scheduleRfDestOperands();
    for (int unit = 0; unit < units; ++unit) {
        const GPUDynInstPtr &inst = stage->toExecute._readyInsts[unit];
        if (inst && stage->toExecute._dispatchStatus[unit] == EXREADY)
            inst->wf->reserveResources();
    }
}

WRAP(void, _ZN4gem59ExecStage4execEv, ExecStage *stage)
{
    const auto &status = stage->fromSchedule._dispatchStatus;
    if (stage->lastTimeInstExecuted ||
        std::any_of(status.begin(), status.end(),
                    [](auto each) { return each != EMPTY; }))
        return __real__ZN4gem59ExecStage4execEv(stage);
    ++unit_of(stage->computeUnit).unexecuted;
    ++stage->idle_dur;
}
