"""What runs on the other side: in the template processes, and in the processes that execute code.

These modules are loaded by a bare interpreter under the name ``inside``, not as part of ``gem_tools``, so they import
nothing but the standard library and each other.
"""
