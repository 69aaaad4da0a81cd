"""The conformance kit: kernels and checks that every backend goes through, by what it declares that it can do.

    tilecore conform --target acme
    pytest --pyargs tilecore.testing.conformance --conform-target acme

Levels: 0 the backend registers, 1 kernels compile, 2 they are correct on a simulated device, 3 they are right on
hardware, 4 they are as fast as a floor. A case that needs what the target does not declare (``Capabilities``) is
skipped, and says what; one that the backend knows to fail (``TargetSpec.known_failures``) is expected to.
"""

LEVELS = {
    0: "registers",
    1: "compiles",
    2: "correct on a simulated device",
    3: "correct on hardware",
    4: "as fast as the floor",
}
