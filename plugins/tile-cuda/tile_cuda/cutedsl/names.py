"""Names that the emitter of CuTe DSL and the module that compiles it share. It imports nothing."""

LAUNCH = "launch_"  # in front of a kernel's name: the function that launches it
LANGUAGE = "cutedsl"  # the value of the target's attribute "language", and the name of the execution backend
# element type -> its name in CuTe DSL
TYPES = {
    "float64": "Float64", "float32": "Float32", "tfloat32": "Float32", "float16": "Float16", "bfloat16": "BFloat16",
    "int8": "Int8", "uint8": "Uint8", "int16": "Int16", "uint16": "Uint16", "int32": "Int32", "uint32": "Uint32",
    "int64": "Int64", "uint64": "Uint64", "bool": "Boolean",
}  # fmt: skip
