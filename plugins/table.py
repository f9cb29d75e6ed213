"""The C boundary of src/device/backend_plugin.h for ctypes: what tests call a back end by."""

import ctypes
import re
from ctypes import CFUNCTYPE, POINTER, c_char, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p


class Note(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p), ("problem", c_char_p)]


class Memory(ctypes.Structure):
    _fields_ = [(name, c_int64) for name in ("allocated", "reserved", "peak_allocated", "peak_reserved", "free", "total")]


class Device(ctypes.Structure):
    _fields_ = [("name", c_char * 128), ("capability", c_char * 32), ("has_bf16", c_int32)]


class Fused(ctypes.Structure):
    _fields_ = [("use", c_int32), ("op", c_char_p)]


def function(*arguments):
    return CFUNCTYPE(c_int, *arguments, c_char_p, c_size_t)


class Table(ctypes.Structure):
    _fields_ = [
        ("abi", c_int32), ("size", c_uint32), ("device", c_char_p), ("collective", c_char_p), ("torch_version", c_char_p),
        ("visible_variable", c_char_p), ("has_pinned_memory", c_int32), ("fused", POINTER(Fused)), ("num_fused", c_size_t),
        ("fallback_ops", POINTER(c_char_p)), ("num_fallback_ops", c_size_t),
        ("init", function()), ("device_count", function(POINTER(c_int32))), ("set_device", function(c_int32)),
        ("synchronize", function(c_int32)), ("describe", function(c_int32, POINTER(Device))),
        ("memory", function(c_int32, POINTER(Memory))), ("reset_peak", function(c_int32)), ("empty_cache", function()),
        ("notes", function(POINTER(POINTER(Note)), POINTER(c_size_t))),
        ("new_group", function(c_void_p, c_int32, c_int32, POINTER(c_int32), c_int32, c_char_p, c_int64, POINTER(c_void_p))),
        ("shutdown", CFUNCTYPE(None)),
    ]


class Backend:
    """A loaded back end; a call that fails raises RuntimeError with its text."""

    def __init__(self, path):
        entry = ctypes.CDLL(str(path)).flexor_backend_entry
        entry.restype = POINTER(Table)
        self.table = entry().contents

    def call(self, name, *arguments):
        error = ctypes.create_string_buffer(512)
        if getattr(self.table, name)(*arguments, error, len(error)) != 0:
            raise RuntimeError(error.value.decode())

    def value(self, name, kind, *arguments):
        out = kind()
        self.call(name, *arguments, ctypes.byref(out))
        return out

    def notes(self):
        """{name: (value, problem)}"""
        notes, count = POINTER(Note)(), c_size_t()
        self.call("notes", ctypes.byref(notes), ctypes.byref(count))
        text = lambda value: value.decode() if value is not None else None
        return {text(n.name): (text(n.value), text(n.problem)) for n in notes[: count.value]}

    def fused(self):
        return {f.use: f.op.decode() for f in self.table.fused[: self.table.num_fused]}


def header_fields(header):
    """Names of the table's fields in the header, in order."""
    body = re.sub(r"//.*", "", header.read_text().split("typedef struct flexor_backend {")[1].split("} flexor_backend;")[0])
    return re.findall(r"(\w+)(?:\)\([^;]*\))?;", body)
