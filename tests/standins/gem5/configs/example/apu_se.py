# Stand-in for gem5's configs/example/apu_se.py: standin_gem5.py simulates; this builds the machine.
import m5

m5.instantiate()
