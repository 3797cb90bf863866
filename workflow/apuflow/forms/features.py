"""Words for what an instruction has beyond its registers, and those of a decoded instruction.

A form that gem5 executes wrongly tells that each instruction with all of its words is executed wrongly.

==================================  ==========================================================================
``abs0`` .. ``abs2``                |x| of a source, by its number. ``neg0`` .. ``neg2``: -x.
``clamp``, ``mul2``, ``mul4``,      changes of the result
``div2``
``sdwa``                            and ``select0:BYTE_1``, ``select1:WORD_0``, ``sext0``, ``sext1``,
                                    ``target:BYTE_1``, ``unused:preserve`` where they are not DWORD, pad
``dpp``                             and ``quad_perm``, ``row_shl``, ``row_shr``, ``row_ror``, ``wave_shl``,
                                    ``wave_rol``, ``wave_shr``, ``wave_ror``, ``row_mirror``,
                                    ``row_half_mirror``, ``row_bcast15``, ``row_bcast31``, ``bound_ctrl``,
                                    ``row_mask``, ``bank_mask``
``select_low``, ``select_high``     OP_SEL, OP_SEL_HI that are not the usual ones, ``neg_low``, ``neg_high``
``scalar0`` .. ``scalar2``          a source is a scalar register; ``constant0`` .. ``constant2``: a whole
                                    inline constant; ``zero0`` ..: 0 as a float of the vector ALU;
                                    ``float0`` ..: a float one; ``literal0`` ..: a literal; ``vcc0`` ..,
                                    ``m00`` .., ``exec0`` ..: one of these
``accumulation``                    an operand is an accumulation register; ``implied_accumulation``: C and D
                                    of gfx908, whose encoding has no bit for them
``cbsz``, ``blgp``                  broadcasts of matrix instructions; of fp64 ones ``blgp`` are signs
``glc``, ``slc``, ``offset``,       of memory instructions: ``offset`` is not 0; ``saddr``: a scalar base;
``saddr``, ``offen``, ``idxen``,    ``gds``
``soffset``, ``gds``
``lds``                             a load to LDS
``to_vcc``, ``to_m0``, ``to_exec``  the target of a scalar instruction
``bit_mask``, ``rotate``, ``fft``   modes of DS_SWIZZLE_B32, and ``quad_perm``
``some_lanes``, ``one_lane``,       EXEC, which no decoder sees: a form that is right with all lanes is tried
``no_lane``                         with some, one, none
``negative``, ``subnormal``,        operands, which no decoder sees
``unaligned``, ``across_lines``,
``large``, ``overlapping``
``strided``, ``random_places``,     addresses of lanes that are not one behind the other
``same_address``, ``across_pages``
``out_of_range``, ``add_tid``,      descriptors of buffers; ``partly_out_of_range``: the first
``partly_out_of_range``,            words are in range
``stride``, ``swizzled``
``special``                         of a wrong form: only lanes with a zero, subnormal, infinity or NaN
                                    among operands and expected results are wrong
``taken``, ``not_taken``,           branches
``some_taken``
==================================  ==========================================================================
"""

from __future__ import annotations

from typing import Final

AT_RUN_TIME: Final = frozenset(
    {
        *("some_lanes", "one_lane", "no_lane", "negative", "subnormal", "unaligned", "across_lines"),
        *("large", "overlapping", "strided", "random_places", "same_address", "across_pages"),
        *("out_of_range", "partly_out_of_range", "stride", "swizzled", "add_tid"),
        *("taken", "not_taken", "some_taken", "special"),
    }
)
"""Words that only a run tells."""
