// The number that 16 bits are as a half: what the conversions of smaller types are computed by.
#pragma once
TC_FN float tc_half_value(ushort bits) { return (float)as_type<half>(bits); }
