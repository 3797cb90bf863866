# Stand-in for gem5's configs/example/apu_se.py: standin_gem5.py only checks that it is there.
