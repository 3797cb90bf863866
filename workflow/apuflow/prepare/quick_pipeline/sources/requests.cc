// Requests and messages (mem/ruby/system/GPUCoalescer.cc, mem/ruby/common/NetDest.cc).
#include "debug/GPUCoalescer.hh"
#include "mem/ruby/common/NetDest.hh"
#include "mem/ruby/system/GPUCoalescer.hh"
#include "wrap.hh"

using namespace gem5;

namespace
{

/** Releases after v23.0 keep the type of each request. */
template <class Table>
auto
keep_type(Table &table, ruby::GPUCoalescer &coalescer, PacketPtr packet, int)
    -> decltype(table.insertReqType(packet, coalescer.getRequestType(packet)))
{
    return table.insertReqType(packet, coalescer.getRequestType(packet));
}

template <class Table>
void
keep_type(Table &, ruby::GPUCoalescer &, PacketPtr, long)
{
}

} // anonymous namespace

// An instruction's requests are counted once, not for each of its lanes.
WRAP(ruby::RequestStatus, _ZN4gem54ruby12GPUCoalescer11makeRequestEPNS_6PacketE,
     ruby::GPUCoalescer *coalescer, PacketPtr packet)
{
    auto &table = coalescer->uncoalescedTable;
    if (packet->cmd == MemCmd::MemSyncReq || debug::GPUCoalescer ||
        !packet->req->hasInstSeqNum() ||
        !table.instPktsRemaining.count(packet->req->getReqInstSeqNum()))
        return __real__ZN4gem54ruby12GPUCoalescer11makeRequestEPNS_6PacketE(
            coalescer, packet);
    table.insertPacket(packet);
    keep_type(table, *coalescer, packet, 0);
    if (!coalescer->issueEvent.scheduled())
        coalescer->schedule(coalescer->issueEvent, curTick());
    return ruby::RequestStatus_Issued;
}

// Both have the size of the system.
WRAP(ruby::NetDest, _ZNK4gem54ruby7NetDest3ANDERKS1_,
     const ruby::NetDest *one, const ruby::NetDest &other)
{
    ruby::NetDest both(*one);
    for (size_t type = 0; type < both.m_bits.size(); ++type)
        both.m_bits[type].bits &= other.m_bits[type].bits;
    return both;
}
