"""Profiles of the kernels that DNNMark's layers launch, one module per MIOpen program."""
