# What the generated stubs begin with.
weft._core.__prefix__:
    import weft._typing
