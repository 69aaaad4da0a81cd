// The accumulator registers of wgmma by their type and N: their names in the instruction, their binding to d, and the
// names of the seven operands after them. N/2 words for f32 and s32, N/4 for f16, two to a word.
#pragma once

#define TC_WORDS_f32_8 "%0, %1, %2, %3"
#define TC_WORDS_f32_16 TC_WORDS_f32_8 ", %4, %5, %6, %7"
#define TC_WORDS_f32_24 TC_WORDS_f32_16 ", %8, %9, %10, %11"
#define TC_WORDS_f32_32 TC_WORDS_f32_24 ", %12, %13, %14, %15"
#define TC_WORDS_f32_40 TC_WORDS_f32_32 ", %16, %17, %18, %19"
#define TC_WORDS_f32_48 TC_WORDS_f32_40 ", %20, %21, %22, %23"
#define TC_WORDS_f32_56 TC_WORDS_f32_48 ", %24, %25, %26, %27"
#define TC_WORDS_f32_64 TC_WORDS_f32_56 ", %28, %29, %30, %31"
#define TC_WORDS_f32_72 TC_WORDS_f32_64 ", %32, %33, %34, %35"
#define TC_WORDS_f32_80 TC_WORDS_f32_72 ", %36, %37, %38, %39"
#define TC_WORDS_f32_88 TC_WORDS_f32_80 ", %40, %41, %42, %43"
#define TC_WORDS_f32_96 TC_WORDS_f32_88 ", %44, %45, %46, %47"
#define TC_WORDS_f32_104 TC_WORDS_f32_96 ", %48, %49, %50, %51"
#define TC_WORDS_f32_112 TC_WORDS_f32_104 ", %52, %53, %54, %55"
#define TC_WORDS_f32_120 TC_WORDS_f32_112 ", %56, %57, %58, %59"
#define TC_WORDS_f32_128 TC_WORDS_f32_120 ", %60, %61, %62, %63"
#define TC_WORDS_f32_136 TC_WORDS_f32_128 ", %64, %65, %66, %67"
#define TC_WORDS_f32_144 TC_WORDS_f32_136 ", %68, %69, %70, %71"
#define TC_WORDS_f32_152 TC_WORDS_f32_144 ", %72, %73, %74, %75"
#define TC_WORDS_f32_160 TC_WORDS_f32_152 ", %76, %77, %78, %79"
#define TC_WORDS_f32_168 TC_WORDS_f32_160 ", %80, %81, %82, %83"
#define TC_WORDS_f32_176 TC_WORDS_f32_168 ", %84, %85, %86, %87"
#define TC_WORDS_f32_184 TC_WORDS_f32_176 ", %88, %89, %90, %91"
#define TC_WORDS_f32_192 TC_WORDS_f32_184 ", %92, %93, %94, %95"
#define TC_WORDS_f32_200 TC_WORDS_f32_192 ", %96, %97, %98, %99"
#define TC_WORDS_f32_208 TC_WORDS_f32_200 ", %100, %101, %102, %103"
#define TC_WORDS_f32_216 TC_WORDS_f32_208 ", %104, %105, %106, %107"
#define TC_WORDS_f32_224 TC_WORDS_f32_216 ", %108, %109, %110, %111"
#define TC_WORDS_f32_232 TC_WORDS_f32_224 ", %112, %113, %114, %115"
#define TC_WORDS_f32_240 TC_WORDS_f32_232 ", %116, %117, %118, %119"
#define TC_WORDS_f32_248 TC_WORDS_f32_240 ", %120, %121, %122, %123"
#define TC_WORDS_f32_256 TC_WORDS_f32_248 ", %124, %125, %126, %127"
#define TC_BIND_f32_8(C, d) C(d[0]), C(d[1]), C(d[2]), C(d[3])
#define TC_BIND_f32_16(C, d) TC_BIND_f32_8(C, d), C(d[4]), C(d[5]), C(d[6]), C(d[7])
#define TC_BIND_f32_24(C, d) TC_BIND_f32_16(C, d), C(d[8]), C(d[9]), C(d[10]), C(d[11])
#define TC_BIND_f32_32(C, d) TC_BIND_f32_24(C, d), C(d[12]), C(d[13]), C(d[14]), C(d[15])
#define TC_BIND_f32_40(C, d) TC_BIND_f32_32(C, d), C(d[16]), C(d[17]), C(d[18]), C(d[19])
#define TC_BIND_f32_48(C, d) TC_BIND_f32_40(C, d), C(d[20]), C(d[21]), C(d[22]), C(d[23])
#define TC_BIND_f32_56(C, d) TC_BIND_f32_48(C, d), C(d[24]), C(d[25]), C(d[26]), C(d[27])
#define TC_BIND_f32_64(C, d) TC_BIND_f32_56(C, d), C(d[28]), C(d[29]), C(d[30]), C(d[31])
#define TC_BIND_f32_72(C, d) TC_BIND_f32_64(C, d), C(d[32]), C(d[33]), C(d[34]), C(d[35])
#define TC_BIND_f32_80(C, d) TC_BIND_f32_72(C, d), C(d[36]), C(d[37]), C(d[38]), C(d[39])
#define TC_BIND_f32_88(C, d) TC_BIND_f32_80(C, d), C(d[40]), C(d[41]), C(d[42]), C(d[43])
#define TC_BIND_f32_96(C, d) TC_BIND_f32_88(C, d), C(d[44]), C(d[45]), C(d[46]), C(d[47])
#define TC_BIND_f32_104(C, d) TC_BIND_f32_96(C, d), C(d[48]), C(d[49]), C(d[50]), C(d[51])
#define TC_BIND_f32_112(C, d) TC_BIND_f32_104(C, d), C(d[52]), C(d[53]), C(d[54]), C(d[55])
#define TC_BIND_f32_120(C, d) TC_BIND_f32_112(C, d), C(d[56]), C(d[57]), C(d[58]), C(d[59])
#define TC_BIND_f32_128(C, d) TC_BIND_f32_120(C, d), C(d[60]), C(d[61]), C(d[62]), C(d[63])
#define TC_BIND_f32_136(C, d) TC_BIND_f32_128(C, d), C(d[64]), C(d[65]), C(d[66]), C(d[67])
#define TC_BIND_f32_144(C, d) TC_BIND_f32_136(C, d), C(d[68]), C(d[69]), C(d[70]), C(d[71])
#define TC_BIND_f32_152(C, d) TC_BIND_f32_144(C, d), C(d[72]), C(d[73]), C(d[74]), C(d[75])
#define TC_BIND_f32_160(C, d) TC_BIND_f32_152(C, d), C(d[76]), C(d[77]), C(d[78]), C(d[79])
#define TC_BIND_f32_168(C, d) TC_BIND_f32_160(C, d), C(d[80]), C(d[81]), C(d[82]), C(d[83])
#define TC_BIND_f32_176(C, d) TC_BIND_f32_168(C, d), C(d[84]), C(d[85]), C(d[86]), C(d[87])
#define TC_BIND_f32_184(C, d) TC_BIND_f32_176(C, d), C(d[88]), C(d[89]), C(d[90]), C(d[91])
#define TC_BIND_f32_192(C, d) TC_BIND_f32_184(C, d), C(d[92]), C(d[93]), C(d[94]), C(d[95])
#define TC_BIND_f32_200(C, d) TC_BIND_f32_192(C, d), C(d[96]), C(d[97]), C(d[98]), C(d[99])
#define TC_BIND_f32_208(C, d) TC_BIND_f32_200(C, d), C(d[100]), C(d[101]), C(d[102]), C(d[103])
#define TC_BIND_f32_216(C, d) TC_BIND_f32_208(C, d), C(d[104]), C(d[105]), C(d[106]), C(d[107])
#define TC_BIND_f32_224(C, d) TC_BIND_f32_216(C, d), C(d[108]), C(d[109]), C(d[110]), C(d[111])
#define TC_BIND_f32_232(C, d) TC_BIND_f32_224(C, d), C(d[112]), C(d[113]), C(d[114]), C(d[115])
#define TC_BIND_f32_240(C, d) TC_BIND_f32_232(C, d), C(d[116]), C(d[117]), C(d[118]), C(d[119])
#define TC_BIND_f32_248(C, d) TC_BIND_f32_240(C, d), C(d[120]), C(d[121]), C(d[122]), C(d[123])
#define TC_BIND_f32_256(C, d) TC_BIND_f32_248(C, d), C(d[124]), C(d[125]), C(d[126]), C(d[127])
#define TC_REST_f32_8 "%4", "%5", "%6", "%7", "%8", "%9", "%10"
#define TC_REST_f32_16 "%8", "%9", "%10", "%11", "%12", "%13", "%14"
#define TC_REST_f32_24 "%12", "%13", "%14", "%15", "%16", "%17", "%18"
#define TC_REST_f32_32 "%16", "%17", "%18", "%19", "%20", "%21", "%22"
#define TC_REST_f32_40 "%20", "%21", "%22", "%23", "%24", "%25", "%26"
#define TC_REST_f32_48 "%24", "%25", "%26", "%27", "%28", "%29", "%30"
#define TC_REST_f32_56 "%28", "%29", "%30", "%31", "%32", "%33", "%34"
#define TC_REST_f32_64 "%32", "%33", "%34", "%35", "%36", "%37", "%38"
#define TC_REST_f32_72 "%36", "%37", "%38", "%39", "%40", "%41", "%42"
#define TC_REST_f32_80 "%40", "%41", "%42", "%43", "%44", "%45", "%46"
#define TC_REST_f32_88 "%44", "%45", "%46", "%47", "%48", "%49", "%50"
#define TC_REST_f32_96 "%48", "%49", "%50", "%51", "%52", "%53", "%54"
#define TC_REST_f32_104 "%52", "%53", "%54", "%55", "%56", "%57", "%58"
#define TC_REST_f32_112 "%56", "%57", "%58", "%59", "%60", "%61", "%62"
#define TC_REST_f32_120 "%60", "%61", "%62", "%63", "%64", "%65", "%66"
#define TC_REST_f32_128 "%64", "%65", "%66", "%67", "%68", "%69", "%70"
#define TC_REST_f32_136 "%68", "%69", "%70", "%71", "%72", "%73", "%74"
#define TC_REST_f32_144 "%72", "%73", "%74", "%75", "%76", "%77", "%78"
#define TC_REST_f32_152 "%76", "%77", "%78", "%79", "%80", "%81", "%82"
#define TC_REST_f32_160 "%80", "%81", "%82", "%83", "%84", "%85", "%86"
#define TC_REST_f32_168 "%84", "%85", "%86", "%87", "%88", "%89", "%90"
#define TC_REST_f32_176 "%88", "%89", "%90", "%91", "%92", "%93", "%94"
#define TC_REST_f32_184 "%92", "%93", "%94", "%95", "%96", "%97", "%98"
#define TC_REST_f32_192 "%96", "%97", "%98", "%99", "%100", "%101", "%102"
#define TC_REST_f32_200 "%100", "%101", "%102", "%103", "%104", "%105", "%106"
#define TC_REST_f32_208 "%104", "%105", "%106", "%107", "%108", "%109", "%110"
#define TC_REST_f32_216 "%108", "%109", "%110", "%111", "%112", "%113", "%114"
#define TC_REST_f32_224 "%112", "%113", "%114", "%115", "%116", "%117", "%118"
#define TC_REST_f32_232 "%116", "%117", "%118", "%119", "%120", "%121", "%122"
#define TC_REST_f32_240 "%120", "%121", "%122", "%123", "%124", "%125", "%126"
#define TC_REST_f32_248 "%124", "%125", "%126", "%127", "%128", "%129", "%130"
#define TC_REST_f32_256 "%128", "%129", "%130", "%131", "%132", "%133", "%134"
#define TC_WORDS_f16_8 "%0, %1"
#define TC_WORDS_f16_16 TC_WORDS_f16_8 ", %2, %3"
#define TC_WORDS_f16_24 TC_WORDS_f16_16 ", %4, %5"
#define TC_WORDS_f16_32 TC_WORDS_f16_24 ", %6, %7"
#define TC_WORDS_f16_40 TC_WORDS_f16_32 ", %8, %9"
#define TC_WORDS_f16_48 TC_WORDS_f16_40 ", %10, %11"
#define TC_WORDS_f16_56 TC_WORDS_f16_48 ", %12, %13"
#define TC_WORDS_f16_64 TC_WORDS_f16_56 ", %14, %15"
#define TC_WORDS_f16_72 TC_WORDS_f16_64 ", %16, %17"
#define TC_WORDS_f16_80 TC_WORDS_f16_72 ", %18, %19"
#define TC_WORDS_f16_88 TC_WORDS_f16_80 ", %20, %21"
#define TC_WORDS_f16_96 TC_WORDS_f16_88 ", %22, %23"
#define TC_WORDS_f16_104 TC_WORDS_f16_96 ", %24, %25"
#define TC_WORDS_f16_112 TC_WORDS_f16_104 ", %26, %27"
#define TC_WORDS_f16_120 TC_WORDS_f16_112 ", %28, %29"
#define TC_WORDS_f16_128 TC_WORDS_f16_120 ", %30, %31"
#define TC_WORDS_f16_136 TC_WORDS_f16_128 ", %32, %33"
#define TC_WORDS_f16_144 TC_WORDS_f16_136 ", %34, %35"
#define TC_WORDS_f16_152 TC_WORDS_f16_144 ", %36, %37"
#define TC_WORDS_f16_160 TC_WORDS_f16_152 ", %38, %39"
#define TC_WORDS_f16_168 TC_WORDS_f16_160 ", %40, %41"
#define TC_WORDS_f16_176 TC_WORDS_f16_168 ", %42, %43"
#define TC_WORDS_f16_184 TC_WORDS_f16_176 ", %44, %45"
#define TC_WORDS_f16_192 TC_WORDS_f16_184 ", %46, %47"
#define TC_WORDS_f16_200 TC_WORDS_f16_192 ", %48, %49"
#define TC_WORDS_f16_208 TC_WORDS_f16_200 ", %50, %51"
#define TC_WORDS_f16_216 TC_WORDS_f16_208 ", %52, %53"
#define TC_WORDS_f16_224 TC_WORDS_f16_216 ", %54, %55"
#define TC_WORDS_f16_232 TC_WORDS_f16_224 ", %56, %57"
#define TC_WORDS_f16_240 TC_WORDS_f16_232 ", %58, %59"
#define TC_WORDS_f16_248 TC_WORDS_f16_240 ", %60, %61"
#define TC_WORDS_f16_256 TC_WORDS_f16_248 ", %62, %63"
#define TC_BIND_f16_8(C, d) C(d[0]), C(d[1])
#define TC_BIND_f16_16(C, d) TC_BIND_f16_8(C, d), C(d[2]), C(d[3])
#define TC_BIND_f16_24(C, d) TC_BIND_f16_16(C, d), C(d[4]), C(d[5])
#define TC_BIND_f16_32(C, d) TC_BIND_f16_24(C, d), C(d[6]), C(d[7])
#define TC_BIND_f16_40(C, d) TC_BIND_f16_32(C, d), C(d[8]), C(d[9])
#define TC_BIND_f16_48(C, d) TC_BIND_f16_40(C, d), C(d[10]), C(d[11])
#define TC_BIND_f16_56(C, d) TC_BIND_f16_48(C, d), C(d[12]), C(d[13])
#define TC_BIND_f16_64(C, d) TC_BIND_f16_56(C, d), C(d[14]), C(d[15])
#define TC_BIND_f16_72(C, d) TC_BIND_f16_64(C, d), C(d[16]), C(d[17])
#define TC_BIND_f16_80(C, d) TC_BIND_f16_72(C, d), C(d[18]), C(d[19])
#define TC_BIND_f16_88(C, d) TC_BIND_f16_80(C, d), C(d[20]), C(d[21])
#define TC_BIND_f16_96(C, d) TC_BIND_f16_88(C, d), C(d[22]), C(d[23])
#define TC_BIND_f16_104(C, d) TC_BIND_f16_96(C, d), C(d[24]), C(d[25])
#define TC_BIND_f16_112(C, d) TC_BIND_f16_104(C, d), C(d[26]), C(d[27])
#define TC_BIND_f16_120(C, d) TC_BIND_f16_112(C, d), C(d[28]), C(d[29])
#define TC_BIND_f16_128(C, d) TC_BIND_f16_120(C, d), C(d[30]), C(d[31])
#define TC_BIND_f16_136(C, d) TC_BIND_f16_128(C, d), C(d[32]), C(d[33])
#define TC_BIND_f16_144(C, d) TC_BIND_f16_136(C, d), C(d[34]), C(d[35])
#define TC_BIND_f16_152(C, d) TC_BIND_f16_144(C, d), C(d[36]), C(d[37])
#define TC_BIND_f16_160(C, d) TC_BIND_f16_152(C, d), C(d[38]), C(d[39])
#define TC_BIND_f16_168(C, d) TC_BIND_f16_160(C, d), C(d[40]), C(d[41])
#define TC_BIND_f16_176(C, d) TC_BIND_f16_168(C, d), C(d[42]), C(d[43])
#define TC_BIND_f16_184(C, d) TC_BIND_f16_176(C, d), C(d[44]), C(d[45])
#define TC_BIND_f16_192(C, d) TC_BIND_f16_184(C, d), C(d[46]), C(d[47])
#define TC_BIND_f16_200(C, d) TC_BIND_f16_192(C, d), C(d[48]), C(d[49])
#define TC_BIND_f16_208(C, d) TC_BIND_f16_200(C, d), C(d[50]), C(d[51])
#define TC_BIND_f16_216(C, d) TC_BIND_f16_208(C, d), C(d[52]), C(d[53])
#define TC_BIND_f16_224(C, d) TC_BIND_f16_216(C, d), C(d[54]), C(d[55])
#define TC_BIND_f16_232(C, d) TC_BIND_f16_224(C, d), C(d[56]), C(d[57])
#define TC_BIND_f16_240(C, d) TC_BIND_f16_232(C, d), C(d[58]), C(d[59])
#define TC_BIND_f16_248(C, d) TC_BIND_f16_240(C, d), C(d[60]), C(d[61])
#define TC_BIND_f16_256(C, d) TC_BIND_f16_248(C, d), C(d[62]), C(d[63])
#define TC_REST_f16_8 "%2", "%3", "%4", "%5", "%6", "%7", "%8"
#define TC_REST_f16_16 "%4", "%5", "%6", "%7", "%8", "%9", "%10"
#define TC_REST_f16_24 "%6", "%7", "%8", "%9", "%10", "%11", "%12"
#define TC_REST_f16_32 "%8", "%9", "%10", "%11", "%12", "%13", "%14"
#define TC_REST_f16_40 "%10", "%11", "%12", "%13", "%14", "%15", "%16"
#define TC_REST_f16_48 "%12", "%13", "%14", "%15", "%16", "%17", "%18"
#define TC_REST_f16_56 "%14", "%15", "%16", "%17", "%18", "%19", "%20"
#define TC_REST_f16_64 "%16", "%17", "%18", "%19", "%20", "%21", "%22"
#define TC_REST_f16_72 "%18", "%19", "%20", "%21", "%22", "%23", "%24"
#define TC_REST_f16_80 "%20", "%21", "%22", "%23", "%24", "%25", "%26"
#define TC_REST_f16_88 "%22", "%23", "%24", "%25", "%26", "%27", "%28"
#define TC_REST_f16_96 "%24", "%25", "%26", "%27", "%28", "%29", "%30"
#define TC_REST_f16_104 "%26", "%27", "%28", "%29", "%30", "%31", "%32"
#define TC_REST_f16_112 "%28", "%29", "%30", "%31", "%32", "%33", "%34"
#define TC_REST_f16_120 "%30", "%31", "%32", "%33", "%34", "%35", "%36"
#define TC_REST_f16_128 "%32", "%33", "%34", "%35", "%36", "%37", "%38"
#define TC_REST_f16_136 "%34", "%35", "%36", "%37", "%38", "%39", "%40"
#define TC_REST_f16_144 "%36", "%37", "%38", "%39", "%40", "%41", "%42"
#define TC_REST_f16_152 "%38", "%39", "%40", "%41", "%42", "%43", "%44"
#define TC_REST_f16_160 "%40", "%41", "%42", "%43", "%44", "%45", "%46"
#define TC_REST_f16_168 "%42", "%43", "%44", "%45", "%46", "%47", "%48"
#define TC_REST_f16_176 "%44", "%45", "%46", "%47", "%48", "%49", "%50"
#define TC_REST_f16_184 "%46", "%47", "%48", "%49", "%50", "%51", "%52"
#define TC_REST_f16_192 "%48", "%49", "%50", "%51", "%52", "%53", "%54"
#define TC_REST_f16_200 "%50", "%51", "%52", "%53", "%54", "%55", "%56"
#define TC_REST_f16_208 "%52", "%53", "%54", "%55", "%56", "%57", "%58"
#define TC_REST_f16_216 "%54", "%55", "%56", "%57", "%58", "%59", "%60"
#define TC_REST_f16_224 "%56", "%57", "%58", "%59", "%60", "%61", "%62"
#define TC_REST_f16_232 "%58", "%59", "%60", "%61", "%62", "%63", "%64"
#define TC_REST_f16_240 "%60", "%61", "%62", "%63", "%64", "%65", "%66"
#define TC_REST_f16_248 "%62", "%63", "%64", "%65", "%66", "%67", "%68"
#define TC_REST_f16_256 "%64", "%65", "%66", "%67", "%68", "%69", "%70"
