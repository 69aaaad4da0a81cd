"""What a factory reads, what it does not, and what cannot be followed: one small program each."""

from __future__ import annotations

import pytest

from tilecore.compilation_cache.source import definitions
from tilecore.compilation_cache.source_key import source_key


def key(function, *args):
    """The key; worked out from the text, and then from what the cache on disk remembers of it."""
    definitions._remembered.clear()
    source = source_key(function, args)
    definitions._remembered.clear()
    assert source_key(function, args) == source
    return None if source is None else source.digest


# -- what a factory reads beside its arguments: (text, statement run on the module `m` that changes the kernel)

CHANGES = {
    "global int": ("G = 1\ndef f(): return G", "m.G = 2"),
    "global int to bool": ("G = 1\ndef f(): return G", "m.G = True"),
    "global float sign": ("G = 0.0\ndef f(): return G", "m.G = -0.0"),
    "global list replaced": ("G = [1]\ndef f(): return G[0]", "m.G = [2]"),
    "global list mutated": ("G = [1]\ndef f(): return G[0]", "m.G.append(2)"),
    "global dict value": ("G = {'a': 1}\ndef f(): return G['a']", "m.G['a'] = 2"),
    "global dict order": ("G = {'a': 1, 'b': 2}\ndef f(): return list(G)", "m.G = {'b': 2, 'a': 1}"),
    "nested container": ("G = {'a': ([1, 2], 3)}\ndef f(): return G", "m.G['a'][0][1] = 5"),
    "read in a nested function": ("G = 1\ndef f():\n def g():\n  def h(): return G\n  return h\n return g", "m.G = 2"),
    "read in a lambda": ("G = 1\ndef f(): return lambda x: x + G", "m.G = 2"),
    "read in a comprehension": ("G = 1\ndef f(): return [x + G for x in range(3)]", "m.G = 2"),
    "read in a comprehension's condition": ("G = 1\ndef f(): return {x: 1 for x in range(3) if x < G}", "m.G = 2"),
    "read in a nested default": ("G = 1\ndef f():\n def g(x=G): return x\n return g", "m.G = 2"),
    "read in a nested annotation": ("G = 1\ndef f():\n def g(x: G): return x\n return g", "m.G = 2"),
    "read in a nested string annotation": ("G = 1\ndef f():\n def g(x: 'G'): return x\n return g", "m.G = 2"),
    "read in a nested class": ("G = 1\ndef f():\n class C:\n  x = G\n return C", "m.G = 2"),
    "read in a method past its class's name": (
        "G = 1\ndef f():\n class C:\n  G = 2\n  def m(self): return G\n return C",
        "m.G = 2",
    ),
    "read in an f-string": ("G = 1\ndef f(): return f'{G:>{G}}'", "m.G = 2"),
    "read by augmented assignment": ("G = 1\ndef f():\n global G\n G += 1", "m.G = 5"),
    "read under a local of an inner scope": ("G = 1\ndef f():\n [G for G in ()]\n return G", "m.G = 2"),
    "read in a match": ("G = 1\ndef f(x=1):\n match x:\n  case 1 if G > 1: return 1\n return 2", "m.G = 2"),
    "read in a class body that also binds it": ("G = 1\ndef f():\n class C:\n  G = G\n return C", "m.G = 2"),
    "star argument": ("G = (1, 2)\ndef f(): return max(*G)", "m.G = (1, 3)"),
    "helper": ("def h(): return 1\ndef f(): return h()", "exec('def h(): return 2', vars(m))"),
    "helper's global": ("G = 1\ndef h(): return G\ndef f(): return h()", "m.G = 2"),
    "helper's helper's global": ("G = 1\ndef g(): return G\ndef h(): return g()\ndef f(): return h()", "m.G = 2"),
    "helper's default": ("def h(x=1): return x\ndef f(): return h()", "m.h.__defaults__ = (2,)"),
    "helper's keyword default": ("def h(*, x=1): return x\ndef f(): return h()", "m.h.__kwdefaults__['x'] = 2"),
    "helper's attribute": ("def h(): return h.n\nh.n = 1\ndef f(): return h()", "m.h.n = 2"),
    "helper in a dict": ("G = 1\ndef h(): return G\nHS = {'h': h}\ndef f(): return HS['h']()", "m.G = 2"),
    "lambda global": ("G = 1\nh = lambda: G\ndef f(): return h()", "m.G = 2"),
    "recursion between helpers": (
        "G = 1\ndef a(n): return b(n - 1) if n else G\ndef b(n): return a(n - 1) if n else 0\ndef f(): return a(4)",
        "m.G = 2",
    ),
    "own recursion uses the default": (
        "def f(n, step=1): return f(n - step) if n else 0",
        "m.f.__defaults__ = (2,)",
    ),
    "partial": (
        "from functools import partial\ndef h(a, b): return a\nP = partial(h, 1)\ndef f(): return P(2)",
        "m.P = m.partial(m.h, 2)",
    ),
    "bound method of a string": ("G = 'a,b'.split\ndef f(): return G(',')", "m.G = 'a,c'.split"),
    "dtype global": (
        "from tilecore.dtypes import dtype\nG = dtype('float16')\ndef f(): return G",
        "m.G = m.dtype('int8')",
    ),
    "namespace": ("from types import SimpleNamespace\nC = SimpleNamespace(x=1)\ndef f(): return C.x", "m.C.x = 2"),
    "class attribute": ("class C:\n x = 1\ndef f(): return C.x", "m.C.x = 2"),
    "inherited class attribute": ("class B:\n x = 1\nclass C(B): pass\ndef f(): return C.x", "m.B.x = 2"),
    "class attribute through an instance": ("class C:\n x = 1\nc = C()\ndef f(): return c.x", "m.C.x = 2"),
    "instance attribute": ("class C:\n def __init__(self): self.x = 1\nc = C()\ndef f(): return c.x", "m.c.x = 2"),
    "slot": ("class C:\n __slots__ = ('x',)\nc = C()\nc.x = 1\ndef f(): return c.x", "m.c.x = 2"),
    "method's global": ("G = 1\nclass C:\n def m(self): return G\nc = C()\ndef f(): return c.m()", "m.G = 2"),
    "static method's global": ("G = 1\nclass C:\n @staticmethod\n def m(): return G\ndef f(): return C.m()", "m.G = 2"),
    "class method's class state": (
        "class C:\n x = 1\n @classmethod\n def m(cls): return cls.x\ndef f(): return C.m()",
        "m.C.x = 2",
    ),
    "property": (
        "class C:\n y = 1\n @property\n def x(self): return self.y\nc = C()\ndef f(): return c.x",
        "m.C.y = 2",
    ),
    "monkeypatched method": (
        "class C:\n def m(self): return 1\nc = C()\ndef f(): return c.m()",
        "m.C.m = eval('lambda self: 2')",
    ),
    "operator method": (
        "class C:\n n = 1\n def __add__(s, o): return s.n\nc = C()\ndef f(): return c + 1",
        "m.C.n = 2",
    ),
    "dataclass field": (
        "from dataclasses import dataclass\n@dataclass\nclass C:\n x: int = 1\nc = C()\ndef f(): return c.x",
        "m.c.x = 2",
    ),
    "frozen dataclass": (
        "from dataclasses import dataclass as d\n@d(frozen=True)\nclass C:\n x: int = 1\nc = C()\ndef f(): return c.x",
        "m.c = m.C(2)",
    ),
    "dataclass default": (
        "from dataclasses import dataclass\n@dataclass\nclass C:\n x: int = 1\ndef f(): return C().x",
        "m.C.__init__.__defaults__ = (2,); m.C.x = 2",
    ),
    "named tuple": (
        "from typing import NamedTuple\nclass C(NamedTuple):\n x: int\nc = C(1)\ndef f(): return c.x",
        "m.c = m.C(2)",
    ),
    "enum member": ("import enum\nclass E(enum.Enum):\n A = 1\n B = 2\ne = E.A\ndef f(): return e", "m.e = m.E.B"),
    "enum method's global": (
        "import enum\nG = 1\nclass E(enum.IntEnum):\n A = 1\n def m(self): return G\ndef f(): return E.A.m()",
        "m.G = 2",
    ),
    "set that is only searched": ("S = {'a', 'b'}\ndef f(x='a'): return x in S", "m.S.add('c')"),
    "sorted set": ("S = {'a', 'b'}\ndef f(): return sorted(S)", "m.S.add('c')"),
    "wrapped helper": (
        "import functools\nG = 1\ndef d(g):\n @functools.wraps(g)\n def w(): return g()\n return w\n"
        "@d\ndef h(): return G\ndef f(): return h()",
        "m.G = 2",
    ),
    "future annotations": (
        "from __future__ import annotations\nG = 1\ndef f():\n def g(x: G): return x\n return g",
        "m.G = 2",
    ),
    "own quoted annotation": ("from __future__ import annotations\nG = 1\ndef f(x: G = 0): return x", "m.G = 2"),
    "own evaluated annotation": ("def f(x: 1 = 0): return x", "m.f.__annotations__['x'] = 2"),
    "shadowed builtin": ("def f(): return len('abc')", "exec('def len(x): return 7', vars(m))"),
    "unshadowed builtin": ("def len(x): return 7\ndef f(): return len('abc')", "del m.len"),
    "patched pure module": ("import math\ndef f(): return math.floor(1.5)", "m.math = __import__('cmath')"),
    "alias": ("A = [1]\nB = [1]\ndef f():\n A.append(2)\n return B", "m.B = m.A"),
    "alias of one or the other": ("A = [1]\nB = [1]\nC = A\ndef f():\n A.append(2)\n return A, B, C", "m.C = m.B"),
    "mapping proxy": (
        "from types import MappingProxyType\nG = MappingProxyType({'a': 1})\ndef f(): return G['a']",
        "m.G = m.MappingProxyType({'a': 2})",
    ),
    "range": ("G = range(3)\ndef f(): return list(G)", "m.G = range(4)"),
    "getattr with a constant name": ("class C:\n x = 1\ndef f(): return getattr(C, 'x')", "m.C.x = 2"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_what_is_read_changes_the_key(load_module, name):
    text, change = CHANGES[name]
    m = load_module(text)
    arguments = (3,) if name == "own recursion uses the default" else ()
    before = key(m.f, *arguments)
    assert before is not None
    assert key(m.f, *arguments) == before
    assert key(load_module(text).f, *arguments) == before  # the same program, elsewhere
    exec(change, {"m": m})
    after = key(m.f, *arguments)
    assert after != before


# -- what a factory does not read may change freely

UNRELATED = {
    "a local of the same name": ("G = 1\ndef f():\n G = 2\n return G", "m.G = 3"),
    "a parameter of the same name": ("G = 1\ndef f(G=5): return G", "m.G = 3"),
    "a comprehension variable": ("G = 1\ndef f(): return [G for G in range(3)]", "m.G = 3"),
    "a loop variable": ("G = 1\ndef f():\n for G in range(3): pass\n return G", "m.G = 3"),
    "a with target": ("G = 1\ndef f(c=None):\n with c as (G, H): return G", "m.G = 3"),
    "an except name": ("G = 1\ndef f():\n try: pass\n except ValueError as G: return G", "m.G = 3"),
    "a walrus": ("G = 1\ndef f():\n if (G := 4) > 3: return G", "m.G = 3"),
    "a walrus in a comprehension": ("G = 1\ndef f():\n [G := x for x in range(2)]\n return G", "m.G = 3"),
    "a nested function's name": ("G = 1\ndef f():\n def G(): return 2\n return G", "m.G = 3"),
    "a nested class's name": ("G = 1\ndef f():\n class G: pass\n return G", "m.G = 3"),
    "a local import": ("G = 1\ndef f():\n import math as G\n return G.floor(1.5)", "m.G = 3"),
    "a match capture": (
        "G = 1\ndef f(x=1):\n match x:\n  case [G, *H]: return G\n  case {'a': I, **J}: return J",
        "m.G = 3",
    ),
    "an enclosing function's local": ("G = 1\ndef f():\n G = 2\n def g(): return G\n return g", "m.G = 3"),
    "another attribute of a class": ("class C:\n x = 1\n y = 2\ndef f(): return C.x", "m.C.y = 3"),
    "a keyword argument's name": ("G = 1\ndef f(): return dict(G=2)", "m.G = 3"),
    "an attribute's name": ("G = 1\ndef f(x='a'): return x.G", "m.G = 3"),
    "a star argument's name": ("G = 1\ndef f(*G, **H): return G, H", "m.G = 3"),
    "a deleted name": ("G = 1\ndef f():\n G = 1\n del G", "m.G = 3"),
}


@pytest.mark.parametrize("name", UNRELATED)
def test_what_is_not_read_does_not_matter(load_module, name):
    text, change = UNRELATED[name]
    m = load_module(text)
    before = key(m.f)
    assert before is not None
    exec(change, {"m": m})
    assert key(m.f) == before


# -- whatever cannot be followed gives no key

NOT_UNDERSTOOD = {
    "environment": "import os\ndef f(): return os.environ['HOME']",
    "environment in a helper": "import os\ndef h(): return os.getenv('X')\ndef f(): return h()",
    "environment by another name": "from os import environ as E\ndef f(): return E['HOME']",
    "open": "def f(): return open('/dev/null').read()",
    "time": "import time\ndef f(): return time.time()",
    "time function": "from time import time\ndef f(): return time()",
    "random": "import random\ndef f(): return random.randint(0, 4)",
    "random object": "import random\nR = random.Random(3)\ndef f(): return R.random()",
    "input": "def f(): return input()",
    "eval": "def f(): return eval('1 + 1')",
    "exec": "def f(): exec('x = 1')",
    "globals": "def f(): return globals()['G']",
    "locals": "def f(): return locals()",
    "vars": "class C: pass\ndef f(): return vars(C)",
    "import function": "def f(): return __import__('os').environ",
    "hash of a string": "def f(): return hash('a')",
    "id": "def f(): return id(f)",
    "iteration over a set": "S = {'a', 'b'}\ndef f(): return [x for x in S]",
    "iteration over a set display": "def f():\n for x in {'a', 'b'}: return x",
    "a set made and iterated": "def f(xs=('a', 'b')): return list(set(xs))",
    "a set as an argument of the unknown": "S = {'a', 'b'}\ndef f(): return tuple(S)",
    "dunder attribute": "def g(): pass\ndef f(): return g.__globals__['os']",
    "dunder attribute by getattr": "def g(): pass\ndef f(): return getattr(g, '__globals__')",
    "computed getattr on a class": "class C:\n x = 1\ndef f(n='x'): return getattr(C.x, n)",
    "computed getattr on a module": "import string\ndef f(n='digits'): return getattr(string, n)",
    "getattr as a value": "def f(): return list(map(getattr, [1], ['real']))",
    "attrgetter": "import operator\ndef f(): return operator.attrgetter('x')",
    "cached helper": "import functools\n@functools.lru_cache\ndef h(): return 1\ndef f(): return h()",
    "iterator": "I = iter([1, 2])\ndef f(): return next(I)",
    "counter": "import itertools\nI = itertools.count()\ndef f(): return next(I)",
    "generator": "I = (x for x in [1])\ndef f(): return next(I)",
    "file object": "import sys\nS = sys.stdin\ndef f(): return S.read()",
    "module as a value": "import string as M\ndef f():\n x = M\n return x.digits",
    "undefined name": "def f(): return NOT_THERE",
    "empty global": "def f():\n import not_loaded_anywhere as n\n return n.x",
    "relative import": "def f():\n from . import x\n return x",
    "name imported twice": "def f(a=1):\n if a: import math as m\n else: import cmath as m\n return m.floor(1.5)",
    "metaclass": "class M(type):\n def __getattr__(c, n): return 1\nclass C(metaclass=M): pass\ndef f(): return C.x",
    "list subclass": "class L(list): pass\nG = L([1])\ndef f(): return G",
    "partial subclass": "import functools\nclass P(functools.partial): pass\nG = P(max)\ndef f(): return G",
    "lock": "import threading\nL = threading.Lock()\ndef f(): return L.locked()",
    "logger": "import logging\nL = logging.getLogger('x')\ndef f(): return L.isEnabledFor(10)",
    "weak reference": "import weakref\nclass C: pass\nc = C()\nW = weakref.ref(c)\ndef f(): return W()",
    "compiled pattern": "import re\nP = re.compile('a')\ndef f(): return P.match('a')",
    "default of unknown class": "import threading\ndef f(x=threading.Lock()): return x",
    "tilecore's own settings": "from tilecore import settings\ndef f(): return settings.debug()",
    "stack frames": "def g(): yield\ndef f(): return g().gi_frame",
}


@pytest.mark.parametrize("name", NOT_UNDERSTOOD)
def test_what_is_not_understood_gives_no_key(load_module, name):
    assert key(load_module(NOT_UNDERSTOOD[name]).f) is None
