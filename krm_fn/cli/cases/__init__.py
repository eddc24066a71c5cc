"""The cases of `kubevirt-render test`: folders with an input and what is expected of it."""
