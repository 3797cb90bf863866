// A new instruction (gpu_dyn_inst.cc): gem5 clears its buffers byte by byte.
#include <cstring>
#include <map>
#include <new>
#include <vector>

#include "base/compiler.hh"
#include "debug/GPUInst.hh"
#include "gpu-compute/compute_unit.hh"
#include "gpu-compute/gpu_dyn_inst.hh"
#include "gpu-compute/gpu_static_inst.hh"
#include "gpu-compute/wavefront.hh"
#include "wrap.hh"

using namespace gem5;

WRAP(void, _ZN4gem510GPUDynInstC1EPNS_11ComputeUnitEPNS_9WavefrontEPNS_13GPUStaticInstEm,
     GPUDynInst *inst, ComputeUnit *cu, Wavefront *wave,
     GPUStaticInst *static_inst, InstSeqNum number)
{
    if (GEM5_UNLIKELY(debug::GPUInst))
        return __real__ZN4gem510GPUDynInstC1EPNS_11ComputeUnitEPNS_9WavefrontEPNS_13GPUStaticInstEm(
            inst, cu, wave, static_inst, number);
    const int lanes = cu->wfSize();
    new (static_cast<GPUExecContext *>(inst)) GPUExecContext(cu, wave);
    inst->scalarAddr = 0;
    new (&inst->addr) std::vector<Addr>(lanes, 0);
    new (&inst->exec_mask) VectorMask();
    new (&inst->latency) WaitClass();
    new (&inst->memStatusVector) GPUDynInst::StatusVector();
    new (&inst->statusVector)
        std::vector<int>(TheGpuISA::NumVecElemPerVecReg, 0);
    new (&inst->tlbHitLevel) std::vector<int>(lanes, -1);
    new (&inst->roundTripTime) std::vector<Tick>();
    new (&inst->lineAddressTime) std::map<Addr, std::vector<Tick>>();
    auto cleared = [](size_t bytes) {
        return static_cast<uint8_t *>(memset(new uint8_t[bytes], 0, bytes));
    };
    inst->d_data = cleared(lanes * 4 * sizeof(double));
    inst->a_data = cleared(lanes * 8);
    inst->x_data = cleared(lanes * 8);
    inst->scalar_data = cleared(16 * sizeof(uint32_t));
    inst->time = 0;
    inst->numScalarReqs = 0;
    inst->isSaveRestore = false;
    inst->_staticInst = static_inst;
    const_cast<InstSeqNum &>(inst->_seqNum) = number;
    inst->maxSrcVecRegOpSize = -1;
    inst->maxSrcScalarRegOpSize = -1;
    inst->systemReq = false;
    inst->accessTime = -1;
    inst->cu_id = cu->cu_id;
    inst->simdId = wave ? wave->simdId : -1;
    inst->wfDynId = wave ? wave->wfDynId : -1;
    inst->kern_id = wave ? wave->kernId : -1;
    inst->wg_id = wave ? wave->wgId : -1;
    inst->wfSlotId = wave ? wave->wfSlotId : -1;
    static_inst->initOperandInfo();
    static_inst->initDynOperandInfo(wave, cu);
}
