"""apuflow: describe and run DNN experiments on gem5's GCN3 APU model."""
