// All that may let a wavefront do something else than in the last cycle.
#include <algorithm>

#include "gpu-compute/fetch_unit.hh"
#include "gpu-compute/register_file.hh"
#include "units.hh"
#include "wrap.hh"

using namespace quick_pipeline;

WRAP(void, _ZN4gem59Wavefront4execEv, Wavefront *wave)
{
    __real__ZN4gem59Wavefront4execEv(wave);
    changed(*wave);
}

WRAP(void, _ZN4gem59Wavefront5startEmm, Wavefront *wave, uint64_t id,
     Addr pc)
{
    __real__ZN4gem59Wavefront5startEmm(wave, id, pc);
    changed(*wave);
}

WRAP(void, _ZN4gem59Wavefront9setStatusENS0_8status_eE, Wavefront *wave,
     Wavefront::status_e status)
{
    __real__ZN4gem59Wavefront9setStatusENS0_8status_eE(wave, status);
    Unit &unit = unit_of(*wave->computeUnit);
    unit.changed = unit.fetch_changed = true;
}

WRAP(void, _ZN4gem59Wavefront18decVMemInstsIssuedEv, Wavefront *wave)
{
    __real__ZN4gem59Wavefront18decVMemInstsIssuedEv(wave);
    unit_of(*wave->computeUnit).changed = true;
}

WRAP(void, _ZN4gem59Wavefront17decExpInstsIssuedEv, Wavefront *wave)
{
    __real__ZN4gem59Wavefront17decExpInstsIssuedEv(wave);
    unit_of(*wave->computeUnit).changed = true;
}

WRAP(void, _ZN4gem59Wavefront18decLGKMInstsIssuedEv, Wavefront *wave)
{
    __real__ZN4gem59Wavefront18decLGKMInstsIssuedEv(wave);
    unit_of(*wave->computeUnit).changed = true;
}

namespace
{

void
registers_change(const RegisterFile &file, Tick delay)
{
    ComputeUnit &cu = *file.computeUnit;
    Unit &unit = unit_of(cu);
    // One cycle more: the unit may come before the event.
    Tick until = curTick() + delay + cu.clockPeriod();
    unit.registers_change = std::max(unit.registers_change, until);
}

} // anonymous namespace

WRAP(void, _ZN4gem512RegisterFile15enqRegFreeEventEjm, RegisterFile *file,
     uint32_t index, uint64_t delay)
{
    __real__ZN4gem512RegisterFile15enqRegFreeEventEjm(file, index, delay);
    registers_change(*file, delay);
}

WRAP(void, _ZN4gem512RegisterFile15enqRegBusyEventEjm, RegisterFile *file,
     uint32_t index, uint64_t delay)
{
    __real__ZN4gem512RegisterFile15enqRegBusyEventEjm(file, index, delay);
    registers_change(*file, delay);
}

WRAP(void, _ZN4gem59FetchUnit5fetchEPNS_6PacketEPNS_9WavefrontE,
     FetchUnit *stage, PacketPtr packet, Wavefront *wave)
{
    __real__ZN4gem59FetchUnit5fetchEPNS_6PacketEPNS_9WavefrontE(stage, packet,
                                                               wave);
    unit_of(stage->computeUnit).fetch_changed = true;
}

WRAP(void, _ZN4gem59FetchUnit18processFetchReturnEPNS_6PacketE,
     FetchUnit *stage, PacketPtr packet)
{
    auto *sender = static_cast<ComputeUnit::SQCPort::SenderState *>(
        packet->senderState);
    const Wavefront *wave = sender->wavefront;
    __real__ZN4gem59FetchUnit18processFetchReturnEPNS_6PacketE(stage, packet);
    changed(*wave);
}

WRAP(void, _ZN4gem59FetchUnit8flushBufEi, FetchUnit *stage, int wave)
{
    __real__ZN4gem59FetchUnit8flushBufEi(stage, wave);
    changed(*stage->waveList->at(wave));
}
