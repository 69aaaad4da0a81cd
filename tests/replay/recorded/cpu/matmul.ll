declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)

define void @matmul_kernel(ptr noalias %slots, i64 %begin, i64 %end, ptr noalias %scratch) nounwind {
entry:
  %A_shared_13 = getelementptr inbounds i8, ptr %scratch, i64 64
  %B_shared_14 = getelementptr inbounds i8, ptr %scratch, i64 16448
  %C_local_15 = getelementptr inbounds i8, ptr %scratch, i64 32832
  %acc_147 = alloca [64 x float], align 64
  %A_1 = load ptr, ptr %slots
  %slot2 = getelementptr i64, ptr %slots, i64 1
  %B_3 = load ptr, ptr %slot2
  %slot4 = getelementptr i64, ptr %slots, i64 2
  %C_5 = load ptr, ptr %slot4
  br label %blocks
blocks:
  %number = phi i64 [ %begin, %entry ], [ %following, %next_block ]
  %v6 = icmp slt i64 %number, %end
  br i1 %v6, label %block, label %done
block:
  %v7 = urem i64 %number, 2
  %v8 = udiv i64 %number, 2
  %v9 = trunc i64 %v7 to i32
  %v10 = urem i64 %v8, 2
  %v11 = udiv i64 %v8, 2
  %v12 = trunc i64 %v10 to i32
  br label %for16
for16:
  %k20 = phi i32 [ 0, %block ], [ %next21, %next18 ]
  %v22 = icmp slt i32 %k20, 8
  br i1 %v22, label %body17, label %end19
body17:
  br label %for23
for23:
  %i27 = phi i32 [ 0, %body17 ], [ %next28, %next25 ]
  %v29 = icmp slt i32 %i27, 128
  br i1 %v29, label %body24, label %end26
body24:
  br label %for30
for30:
  %j_v34 = phi i32 [ 0, %body24 ], [ %next35, %next32 ]
  %v36 = icmp slt i32 %j_v34, 8
  br i1 %v36, label %body31, label %end33
body31:
  %v37 = mul nsw i32 %v12, 32768
  %v38 = mul nsw i32 %i27, 256
  %v39 = add nsw i32 %v37, %v38
  %v40 = mul nsw i32 %k20, 32
  %v41 = add nsw i32 %v39, %v40
  %v42 = mul nsw i32 %j_v34, 4
  %v43 = add nsw i32 %v41, %v42
  %p44 = getelementptr inbounds float, ptr %A_1, i32 %v43
  %v45 = load <4 x float>, ptr %p44, align 4, !alias.scope !1000, !noalias !2000
  %v46 = mul nsw i32 %i27, 32
  %v47 = mul nsw i32 %j_v34, 4
  %v48 = add nsw i32 %v46, %v47
  %p49 = getelementptr inbounds float, ptr %A_shared_13, i32 %v48
  store <4 x float> %v45, ptr %p49, align 4, !alias.scope !1001, !noalias !2001
  br label %next32
next32:
  %next35 = add nsw i32 %j_v34, 1
  br label %for30
end33:
  br label %next25
next25:
  %next28 = add nsw i32 %i27, 1
  br label %for23
end26:
  br label %for50
for50:
  %i54 = phi i32 [ 0, %end26 ], [ %next55, %next52 ]
  %v56 = icmp slt i32 %i54, 32
  br i1 %v56, label %body51, label %end53
body51:
  br label %for57
for57:
  %j_v61 = phi i32 [ 0, %body51 ], [ %next62, %next59 ]
  %v63 = icmp slt i32 %j_v61, 32
  br i1 %v63, label %body58, label %end60
body58:
  %v64 = mul nsw i32 %k20, 8192
  %v65 = mul nsw i32 %i54, 256
  %v66 = add nsw i32 %v64, %v65
  %v67 = mul nsw i32 %v9, 128
  %v68 = add nsw i32 %v66, %v67
  %v69 = mul nsw i32 %j_v61, 4
  %v70 = add nsw i32 %v68, %v69
  %p71 = getelementptr inbounds float, ptr %B_3, i32 %v70
  %v72 = load <4 x float>, ptr %p71, align 4, !alias.scope !1000, !noalias !2000
  %v73 = ashr i32 %j_v61, 1
  %v74 = mul nsw i32 %v73, 256
  %v75 = mul nsw i32 %i54, 8
  %v76 = add nsw i32 %v74, %v75
  %v77 = and i32 %j_v61, 1
  %v78 = mul nsw i32 %v77, 4
  %v79 = add nsw i32 %v76, %v78
  %v80 = mul nsw i32 %j_v61, 4
  %v81 = mul nsw i32 %j_v61, 4
  %v82 = sub nsw i32 %v80, %v81
  %v83 = add nsw i32 %v79, %v82
  %p84 = getelementptr inbounds float, ptr %B_shared_14, i32 %v83
  store <4 x float> %v72, ptr %p84, align 4, !alias.scope !1002, !noalias !2002
  br label %next59
next59:
  %next62 = add nsw i32 %j_v61, 1
  br label %for57
end60:
  br label %next52
next52:
  %next55 = add nsw i32 %i54, 1
  br label %for50
end53:
  br label %for85
for85:
  %ni89 = phi i32 [ 0, %end53 ], [ %next90, %next87 ]
  %v91 = icmp slt i32 %ni89, 16
  br i1 %v91, label %body86, label %end88
body86:
  br label %for92
for92:
  %mi96 = phi i32 [ 0, %body86 ], [ %next97, %next94 ]
  %v98 = icmp slt i32 %mi96, 16
  br i1 %v98, label %body93, label %end95
body93:
  %v102 = mul i32 %ni89, 16
  %v103 = add i32 %v102, %mi96
  %v104 = icmp slt i32 %v103, 128
  br i1 %v104, label %then99, label %join101
then99:
  br label %for105
for105:
  %line109 = phi i32 [ 0, %then99 ], [ %next110, %next107 ]
  %v111 = icmp slt i32 %line109, 2
  br i1 %v111, label %body106, label %end108
body106:
  %v112 = mul nsw i32 %v12, 32768
  %v113 = mul nsw i32 %ni89, 4096
  %v114 = add nsw i32 %v112, %v113
  %v115 = mul nsw i32 %mi96, 256
  %v116 = add nsw i32 %v114, %v115
  %v117 = mul nsw i32 %k20, 32
  %v118 = add nsw i32 %v116, %v117
  %v119 = mul nsw i32 %line109, 16
  %v120 = add nsw i32 %v118, %v119
  %v121 = add nsw i32 %v120, 32
  %p122 = getelementptr float, ptr %A_1, i32 %v121
  call void @llvm.prefetch.p0(ptr %p122, i32 0, i32 2, i32 1)
  br label %next107
next107:
  %next110 = add nsw i32 %line109, 1
  br label %for105
end108:
  br label %join101
join101:
  %v126 = mul i32 %ni89, 16
  %v127 = add i32 %v126, %mi96
  %v128 = icmp slt i32 %v127, 32
  br i1 %v128, label %then123, label %join125
then123:
  br label %for129
for129:
  %line133 = phi i32 [ 0, %then123 ], [ %next134, %next131 ]
  %v135 = icmp slt i32 %line133, 8
  br i1 %v135, label %body130, label %end132
body130:
  %v136 = mul nsw i32 %k20, 8192
  %v137 = mul nsw i32 %ni89, 4096
  %v138 = add nsw i32 %v136, %v137
  %v139 = mul nsw i32 %mi96, 256
  %v140 = add nsw i32 %v138, %v139
  %v141 = mul nsw i32 %v9, 128
  %v142 = add nsw i32 %v140, %v141
  %v143 = mul nsw i32 %line133, 16
  %v144 = add nsw i32 %v142, %v143
  %v145 = add nsw i32 %v144, 8192
  %p146 = getelementptr float, ptr %B_3, i32 %v145
  call void @llvm.prefetch.p0(ptr %p146, i32 0, i32 2, i32 1)
  br label %next131
next131:
  %next134 = add nsw i32 %line133, 1
  br label %for129
end132:
  br label %join125
join125:
  %v148 = icmp eq i32 %k20, 0
  br i1 %v148, label %then149, label %else150
then149:
  br label %join151
else150:
  %v152 = mul nsw i32 %mi96, 1024
  %v153 = mul nsw i32 0, 128
  %v154 = add nsw i32 %v152, %v153
  %v155 = mul nsw i32 %ni89, 8
  %v156 = add nsw i32 %v154, %v155
  %v157 = add nsw i32 %v156, 0
  %p158 = getelementptr inbounds float, ptr %C_local_15, i32 %v157
  %v159 = load <8 x float>, ptr %p158, align 4, !alias.scope !1003, !noalias !2003
  br label %join151
join151:
  %v160 = phi <8 x float> [ splat (float 0x0000000000000000), %then149 ], [ %v159, %else150 ]
  %v161 = mul nsw i32 0, 8
  %v162 = add nsw i32 %v161, 0
  %p163 = getelementptr inbounds float, ptr %acc_147, i32 %v162
  store <8 x float> %v160, ptr %p163, align 4, !alias.scope !1004, !noalias !2004
  %v164 = icmp eq i32 %k20, 0
  br i1 %v164, label %then165, label %else166
then165:
  br label %join167
else166:
  %v168 = mul nsw i32 %mi96, 1024
  %v169 = mul nsw i32 1, 128
  %v170 = add nsw i32 %v168, %v169
  %v171 = mul nsw i32 %ni89, 8
  %v172 = add nsw i32 %v170, %v171
  %v173 = add nsw i32 %v172, 0
  %p174 = getelementptr inbounds float, ptr %C_local_15, i32 %v173
  %v175 = load <8 x float>, ptr %p174, align 4, !alias.scope !1003, !noalias !2003
  br label %join167
join167:
  %v176 = phi <8 x float> [ splat (float 0x0000000000000000), %then165 ], [ %v175, %else166 ]
  %v177 = mul nsw i32 1, 8
  %v178 = add nsw i32 %v177, 0
  %p179 = getelementptr inbounds float, ptr %acc_147, i32 %v178
  store <8 x float> %v176, ptr %p179, align 4, !alias.scope !1004, !noalias !2004
  %v180 = icmp eq i32 %k20, 0
  br i1 %v180, label %then181, label %else182
then181:
  br label %join183
else182:
  %v184 = mul nsw i32 %mi96, 1024
  %v185 = mul nsw i32 2, 128
  %v186 = add nsw i32 %v184, %v185
  %v187 = mul nsw i32 %ni89, 8
  %v188 = add nsw i32 %v186, %v187
  %v189 = add nsw i32 %v188, 0
  %p190 = getelementptr inbounds float, ptr %C_local_15, i32 %v189
  %v191 = load <8 x float>, ptr %p190, align 4, !alias.scope !1003, !noalias !2003
  br label %join183
join183:
  %v192 = phi <8 x float> [ splat (float 0x0000000000000000), %then181 ], [ %v191, %else182 ]
  %v193 = mul nsw i32 2, 8
  %v194 = add nsw i32 %v193, 0
  %p195 = getelementptr inbounds float, ptr %acc_147, i32 %v194
  store <8 x float> %v192, ptr %p195, align 4, !alias.scope !1004, !noalias !2004
  %v196 = icmp eq i32 %k20, 0
  br i1 %v196, label %then197, label %else198
then197:
  br label %join199
else198:
  %v200 = mul nsw i32 %mi96, 1024
  %v201 = mul nsw i32 3, 128
  %v202 = add nsw i32 %v200, %v201
  %v203 = mul nsw i32 %ni89, 8
  %v204 = add nsw i32 %v202, %v203
  %v205 = add nsw i32 %v204, 0
  %p206 = getelementptr inbounds float, ptr %C_local_15, i32 %v205
  %v207 = load <8 x float>, ptr %p206, align 4, !alias.scope !1003, !noalias !2003
  br label %join199
join199:
  %v208 = phi <8 x float> [ splat (float 0x0000000000000000), %then197 ], [ %v207, %else198 ]
  %v209 = mul nsw i32 3, 8
  %v210 = add nsw i32 %v209, 0
  %p211 = getelementptr inbounds float, ptr %acc_147, i32 %v210
  store <8 x float> %v208, ptr %p211, align 4, !alias.scope !1004, !noalias !2004
  %v212 = icmp eq i32 %k20, 0
  br i1 %v212, label %then213, label %else214
then213:
  br label %join215
else214:
  %v216 = mul nsw i32 %mi96, 1024
  %v217 = mul nsw i32 4, 128
  %v218 = add nsw i32 %v216, %v217
  %v219 = mul nsw i32 %ni89, 8
  %v220 = add nsw i32 %v218, %v219
  %v221 = add nsw i32 %v220, 0
  %p222 = getelementptr inbounds float, ptr %C_local_15, i32 %v221
  %v223 = load <8 x float>, ptr %p222, align 4, !alias.scope !1003, !noalias !2003
  br label %join215
join215:
  %v224 = phi <8 x float> [ splat (float 0x0000000000000000), %then213 ], [ %v223, %else214 ]
  %v225 = mul nsw i32 4, 8
  %v226 = add nsw i32 %v225, 0
  %p227 = getelementptr inbounds float, ptr %acc_147, i32 %v226
  store <8 x float> %v224, ptr %p227, align 4, !alias.scope !1004, !noalias !2004
  %v228 = icmp eq i32 %k20, 0
  br i1 %v228, label %then229, label %else230
then229:
  br label %join231
else230:
  %v232 = mul nsw i32 %mi96, 1024
  %v233 = mul nsw i32 5, 128
  %v234 = add nsw i32 %v232, %v233
  %v235 = mul nsw i32 %ni89, 8
  %v236 = add nsw i32 %v234, %v235
  %v237 = add nsw i32 %v236, 0
  %p238 = getelementptr inbounds float, ptr %C_local_15, i32 %v237
  %v239 = load <8 x float>, ptr %p238, align 4, !alias.scope !1003, !noalias !2003
  br label %join231
join231:
  %v240 = phi <8 x float> [ splat (float 0x0000000000000000), %then229 ], [ %v239, %else230 ]
  %v241 = mul nsw i32 5, 8
  %v242 = add nsw i32 %v241, 0
  %p243 = getelementptr inbounds float, ptr %acc_147, i32 %v242
  store <8 x float> %v240, ptr %p243, align 4, !alias.scope !1004, !noalias !2004
  %v244 = icmp eq i32 %k20, 0
  br i1 %v244, label %then245, label %else246
then245:
  br label %join247
else246:
  %v248 = mul nsw i32 %mi96, 1024
  %v249 = mul nsw i32 6, 128
  %v250 = add nsw i32 %v248, %v249
  %v251 = mul nsw i32 %ni89, 8
  %v252 = add nsw i32 %v250, %v251
  %v253 = add nsw i32 %v252, 0
  %p254 = getelementptr inbounds float, ptr %C_local_15, i32 %v253
  %v255 = load <8 x float>, ptr %p254, align 4, !alias.scope !1003, !noalias !2003
  br label %join247
join247:
  %v256 = phi <8 x float> [ splat (float 0x0000000000000000), %then245 ], [ %v255, %else246 ]
  %v257 = mul nsw i32 6, 8
  %v258 = add nsw i32 %v257, 0
  %p259 = getelementptr inbounds float, ptr %acc_147, i32 %v258
  store <8 x float> %v256, ptr %p259, align 4, !alias.scope !1004, !noalias !2004
  %v260 = icmp eq i32 %k20, 0
  br i1 %v260, label %then261, label %else262
then261:
  br label %join263
else262:
  %v264 = mul nsw i32 %mi96, 1024
  %v265 = mul nsw i32 7, 128
  %v266 = add nsw i32 %v264, %v265
  %v267 = mul nsw i32 %ni89, 8
  %v268 = add nsw i32 %v266, %v267
  %v269 = add nsw i32 %v268, 0
  %p270 = getelementptr inbounds float, ptr %C_local_15, i32 %v269
  %v271 = load <8 x float>, ptr %p270, align 4, !alias.scope !1003, !noalias !2003
  br label %join263
join263:
  %v272 = phi <8 x float> [ splat (float 0x0000000000000000), %then261 ], [ %v271, %else262 ]
  %v273 = mul nsw i32 7, 8
  %v274 = add nsw i32 %v273, 0
  %p275 = getelementptr inbounds float, ptr %acc_147, i32 %v274
  store <8 x float> %v272, ptr %p275, align 4, !alias.scope !1004, !noalias !2004
  br label %for276
for276:
  %k280 = phi i32 [ 0, %join263 ], [ %next281, %next278 ]
  %v282 = icmp slt i32 %k280, 32
  br i1 %v282, label %body277, label %end279
body277:
  %v283 = mul nsw i32 %mi96, 256
  %v284 = mul nsw i32 0, 32
  %v285 = add nsw i32 %v283, %v284
  %v286 = add nsw i32 %v285, %k280
  %p287 = getelementptr inbounds float, ptr %A_shared_13, i32 %v286
  %v288 = load float, ptr %p287, align 4, !alias.scope !1001, !noalias !2001
  %v289 = insertelement <8 x float> poison, float %v288, i64 0
  %v290 = shufflevector <8 x float> %v289, <8 x float> poison, <8 x i32> zeroinitializer
  %v291 = mul nsw i32 %ni89, 256
  %v292 = mul nsw i32 %k280, 8
  %v293 = add nsw i32 %v291, %v292
  %v294 = add nsw i32 %v293, 0
  %p295 = getelementptr inbounds float, ptr %B_shared_14, i32 %v294
  %v296 = load <8 x float>, ptr %p295, align 4, !alias.scope !1002, !noalias !2002
  %v297 = mul nsw i32 0, 8
  %v298 = add nsw i32 %v297, 0
  %p299 = getelementptr inbounds float, ptr %acc_147, i32 %v298
  %v300 = load <8 x float>, ptr %p299, align 4, !alias.scope !1004, !noalias !2004
  %v301 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v290, <8 x float> %v296, <8 x float> %v300)
  %v302 = mul nsw i32 0, 8
  %v303 = add nsw i32 %v302, 0
  %p304 = getelementptr inbounds float, ptr %acc_147, i32 %v303
  store <8 x float> %v301, ptr %p304, align 4, !alias.scope !1004, !noalias !2004
  %v305 = mul nsw i32 %mi96, 256
  %v306 = mul nsw i32 1, 32
  %v307 = add nsw i32 %v305, %v306
  %v308 = add nsw i32 %v307, %k280
  %p309 = getelementptr inbounds float, ptr %A_shared_13, i32 %v308
  %v310 = load float, ptr %p309, align 4, !alias.scope !1001, !noalias !2001
  %v311 = insertelement <8 x float> poison, float %v310, i64 0
  %v312 = shufflevector <8 x float> %v311, <8 x float> poison, <8 x i32> zeroinitializer
  %v313 = mul nsw i32 %ni89, 256
  %v314 = mul nsw i32 %k280, 8
  %v315 = add nsw i32 %v313, %v314
  %v316 = add nsw i32 %v315, 0
  %p317 = getelementptr inbounds float, ptr %B_shared_14, i32 %v316
  %v318 = load <8 x float>, ptr %p317, align 4, !alias.scope !1002, !noalias !2002
  %v319 = mul nsw i32 1, 8
  %v320 = add nsw i32 %v319, 0
  %p321 = getelementptr inbounds float, ptr %acc_147, i32 %v320
  %v322 = load <8 x float>, ptr %p321, align 4, !alias.scope !1004, !noalias !2004
  %v323 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v312, <8 x float> %v318, <8 x float> %v322)
  %v324 = mul nsw i32 1, 8
  %v325 = add nsw i32 %v324, 0
  %p326 = getelementptr inbounds float, ptr %acc_147, i32 %v325
  store <8 x float> %v323, ptr %p326, align 4, !alias.scope !1004, !noalias !2004
  %v327 = mul nsw i32 %mi96, 256
  %v328 = mul nsw i32 2, 32
  %v329 = add nsw i32 %v327, %v328
  %v330 = add nsw i32 %v329, %k280
  %p331 = getelementptr inbounds float, ptr %A_shared_13, i32 %v330
  %v332 = load float, ptr %p331, align 4, !alias.scope !1001, !noalias !2001
  %v333 = insertelement <8 x float> poison, float %v332, i64 0
  %v334 = shufflevector <8 x float> %v333, <8 x float> poison, <8 x i32> zeroinitializer
  %v335 = mul nsw i32 %ni89, 256
  %v336 = mul nsw i32 %k280, 8
  %v337 = add nsw i32 %v335, %v336
  %v338 = add nsw i32 %v337, 0
  %p339 = getelementptr inbounds float, ptr %B_shared_14, i32 %v338
  %v340 = load <8 x float>, ptr %p339, align 4, !alias.scope !1002, !noalias !2002
  %v341 = mul nsw i32 2, 8
  %v342 = add nsw i32 %v341, 0
  %p343 = getelementptr inbounds float, ptr %acc_147, i32 %v342
  %v344 = load <8 x float>, ptr %p343, align 4, !alias.scope !1004, !noalias !2004
  %v345 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v334, <8 x float> %v340, <8 x float> %v344)
  %v346 = mul nsw i32 2, 8
  %v347 = add nsw i32 %v346, 0
  %p348 = getelementptr inbounds float, ptr %acc_147, i32 %v347
  store <8 x float> %v345, ptr %p348, align 4, !alias.scope !1004, !noalias !2004
  %v349 = mul nsw i32 %mi96, 256
  %v350 = mul nsw i32 3, 32
  %v351 = add nsw i32 %v349, %v350
  %v352 = add nsw i32 %v351, %k280
  %p353 = getelementptr inbounds float, ptr %A_shared_13, i32 %v352
  %v354 = load float, ptr %p353, align 4, !alias.scope !1001, !noalias !2001
  %v355 = insertelement <8 x float> poison, float %v354, i64 0
  %v356 = shufflevector <8 x float> %v355, <8 x float> poison, <8 x i32> zeroinitializer
  %v357 = mul nsw i32 %ni89, 256
  %v358 = mul nsw i32 %k280, 8
  %v359 = add nsw i32 %v357, %v358
  %v360 = add nsw i32 %v359, 0
  %p361 = getelementptr inbounds float, ptr %B_shared_14, i32 %v360
  %v362 = load <8 x float>, ptr %p361, align 4, !alias.scope !1002, !noalias !2002
  %v363 = mul nsw i32 3, 8
  %v364 = add nsw i32 %v363, 0
  %p365 = getelementptr inbounds float, ptr %acc_147, i32 %v364
  %v366 = load <8 x float>, ptr %p365, align 4, !alias.scope !1004, !noalias !2004
  %v367 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v356, <8 x float> %v362, <8 x float> %v366)
  %v368 = mul nsw i32 3, 8
  %v369 = add nsw i32 %v368, 0
  %p370 = getelementptr inbounds float, ptr %acc_147, i32 %v369
  store <8 x float> %v367, ptr %p370, align 4, !alias.scope !1004, !noalias !2004
  %v371 = mul nsw i32 %mi96, 256
  %v372 = mul nsw i32 4, 32
  %v373 = add nsw i32 %v371, %v372
  %v374 = add nsw i32 %v373, %k280
  %p375 = getelementptr inbounds float, ptr %A_shared_13, i32 %v374
  %v376 = load float, ptr %p375, align 4, !alias.scope !1001, !noalias !2001
  %v377 = insertelement <8 x float> poison, float %v376, i64 0
  %v378 = shufflevector <8 x float> %v377, <8 x float> poison, <8 x i32> zeroinitializer
  %v379 = mul nsw i32 %ni89, 256
  %v380 = mul nsw i32 %k280, 8
  %v381 = add nsw i32 %v379, %v380
  %v382 = add nsw i32 %v381, 0
  %p383 = getelementptr inbounds float, ptr %B_shared_14, i32 %v382
  %v384 = load <8 x float>, ptr %p383, align 4, !alias.scope !1002, !noalias !2002
  %v385 = mul nsw i32 4, 8
  %v386 = add nsw i32 %v385, 0
  %p387 = getelementptr inbounds float, ptr %acc_147, i32 %v386
  %v388 = load <8 x float>, ptr %p387, align 4, !alias.scope !1004, !noalias !2004
  %v389 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v378, <8 x float> %v384, <8 x float> %v388)
  %v390 = mul nsw i32 4, 8
  %v391 = add nsw i32 %v390, 0
  %p392 = getelementptr inbounds float, ptr %acc_147, i32 %v391
  store <8 x float> %v389, ptr %p392, align 4, !alias.scope !1004, !noalias !2004
  %v393 = mul nsw i32 %mi96, 256
  %v394 = mul nsw i32 5, 32
  %v395 = add nsw i32 %v393, %v394
  %v396 = add nsw i32 %v395, %k280
  %p397 = getelementptr inbounds float, ptr %A_shared_13, i32 %v396
  %v398 = load float, ptr %p397, align 4, !alias.scope !1001, !noalias !2001
  %v399 = insertelement <8 x float> poison, float %v398, i64 0
  %v400 = shufflevector <8 x float> %v399, <8 x float> poison, <8 x i32> zeroinitializer
  %v401 = mul nsw i32 %ni89, 256
  %v402 = mul nsw i32 %k280, 8
  %v403 = add nsw i32 %v401, %v402
  %v404 = add nsw i32 %v403, 0
  %p405 = getelementptr inbounds float, ptr %B_shared_14, i32 %v404
  %v406 = load <8 x float>, ptr %p405, align 4, !alias.scope !1002, !noalias !2002
  %v407 = mul nsw i32 5, 8
  %v408 = add nsw i32 %v407, 0
  %p409 = getelementptr inbounds float, ptr %acc_147, i32 %v408
  %v410 = load <8 x float>, ptr %p409, align 4, !alias.scope !1004, !noalias !2004
  %v411 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v400, <8 x float> %v406, <8 x float> %v410)
  %v412 = mul nsw i32 5, 8
  %v413 = add nsw i32 %v412, 0
  %p414 = getelementptr inbounds float, ptr %acc_147, i32 %v413
  store <8 x float> %v411, ptr %p414, align 4, !alias.scope !1004, !noalias !2004
  %v415 = mul nsw i32 %mi96, 256
  %v416 = mul nsw i32 6, 32
  %v417 = add nsw i32 %v415, %v416
  %v418 = add nsw i32 %v417, %k280
  %p419 = getelementptr inbounds float, ptr %A_shared_13, i32 %v418
  %v420 = load float, ptr %p419, align 4, !alias.scope !1001, !noalias !2001
  %v421 = insertelement <8 x float> poison, float %v420, i64 0
  %v422 = shufflevector <8 x float> %v421, <8 x float> poison, <8 x i32> zeroinitializer
  %v423 = mul nsw i32 %ni89, 256
  %v424 = mul nsw i32 %k280, 8
  %v425 = add nsw i32 %v423, %v424
  %v426 = add nsw i32 %v425, 0
  %p427 = getelementptr inbounds float, ptr %B_shared_14, i32 %v426
  %v428 = load <8 x float>, ptr %p427, align 4, !alias.scope !1002, !noalias !2002
  %v429 = mul nsw i32 6, 8
  %v430 = add nsw i32 %v429, 0
  %p431 = getelementptr inbounds float, ptr %acc_147, i32 %v430
  %v432 = load <8 x float>, ptr %p431, align 4, !alias.scope !1004, !noalias !2004
  %v433 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v422, <8 x float> %v428, <8 x float> %v432)
  %v434 = mul nsw i32 6, 8
  %v435 = add nsw i32 %v434, 0
  %p436 = getelementptr inbounds float, ptr %acc_147, i32 %v435
  store <8 x float> %v433, ptr %p436, align 4, !alias.scope !1004, !noalias !2004
  %v437 = mul nsw i32 %mi96, 256
  %v438 = mul nsw i32 7, 32
  %v439 = add nsw i32 %v437, %v438
  %v440 = add nsw i32 %v439, %k280
  %p441 = getelementptr inbounds float, ptr %A_shared_13, i32 %v440
  %v442 = load float, ptr %p441, align 4, !alias.scope !1001, !noalias !2001
  %v443 = insertelement <8 x float> poison, float %v442, i64 0
  %v444 = shufflevector <8 x float> %v443, <8 x float> poison, <8 x i32> zeroinitializer
  %v445 = mul nsw i32 %ni89, 256
  %v446 = mul nsw i32 %k280, 8
  %v447 = add nsw i32 %v445, %v446
  %v448 = add nsw i32 %v447, 0
  %p449 = getelementptr inbounds float, ptr %B_shared_14, i32 %v448
  %v450 = load <8 x float>, ptr %p449, align 4, !alias.scope !1002, !noalias !2002
  %v451 = mul nsw i32 7, 8
  %v452 = add nsw i32 %v451, 0
  %p453 = getelementptr inbounds float, ptr %acc_147, i32 %v452
  %v454 = load <8 x float>, ptr %p453, align 4, !alias.scope !1004, !noalias !2004
  %v455 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v444, <8 x float> %v450, <8 x float> %v454)
  %v456 = mul nsw i32 7, 8
  %v457 = add nsw i32 %v456, 0
  %p458 = getelementptr inbounds float, ptr %acc_147, i32 %v457
  store <8 x float> %v455, ptr %p458, align 4, !alias.scope !1004, !noalias !2004
  br label %next278
next278:
  %next281 = add nsw i32 %k280, 1
  br label %for276
end279:
  %v459 = mul nsw i32 0, 8
  %v460 = add nsw i32 %v459, 0
  %p461 = getelementptr inbounds float, ptr %acc_147, i32 %v460
  %v462 = load <8 x float>, ptr %p461, align 4, !alias.scope !1004, !noalias !2004
  %v463 = mul nsw i32 %mi96, 1024
  %v464 = mul nsw i32 0, 128
  %v465 = add nsw i32 %v463, %v464
  %v466 = mul nsw i32 %ni89, 8
  %v467 = add nsw i32 %v465, %v466
  %v468 = add nsw i32 %v467, 0
  %p469 = getelementptr inbounds float, ptr %C_local_15, i32 %v468
  store <8 x float> %v462, ptr %p469, align 4, !alias.scope !1003, !noalias !2003
  %v470 = mul nsw i32 1, 8
  %v471 = add nsw i32 %v470, 0
  %p472 = getelementptr inbounds float, ptr %acc_147, i32 %v471
  %v473 = load <8 x float>, ptr %p472, align 4, !alias.scope !1004, !noalias !2004
  %v474 = mul nsw i32 %mi96, 1024
  %v475 = mul nsw i32 1, 128
  %v476 = add nsw i32 %v474, %v475
  %v477 = mul nsw i32 %ni89, 8
  %v478 = add nsw i32 %v476, %v477
  %v479 = add nsw i32 %v478, 0
  %p480 = getelementptr inbounds float, ptr %C_local_15, i32 %v479
  store <8 x float> %v473, ptr %p480, align 4, !alias.scope !1003, !noalias !2003
  %v481 = mul nsw i32 2, 8
  %v482 = add nsw i32 %v481, 0
  %p483 = getelementptr inbounds float, ptr %acc_147, i32 %v482
  %v484 = load <8 x float>, ptr %p483, align 4, !alias.scope !1004, !noalias !2004
  %v485 = mul nsw i32 %mi96, 1024
  %v486 = mul nsw i32 2, 128
  %v487 = add nsw i32 %v485, %v486
  %v488 = mul nsw i32 %ni89, 8
  %v489 = add nsw i32 %v487, %v488
  %v490 = add nsw i32 %v489, 0
  %p491 = getelementptr inbounds float, ptr %C_local_15, i32 %v490
  store <8 x float> %v484, ptr %p491, align 4, !alias.scope !1003, !noalias !2003
  %v492 = mul nsw i32 3, 8
  %v493 = add nsw i32 %v492, 0
  %p494 = getelementptr inbounds float, ptr %acc_147, i32 %v493
  %v495 = load <8 x float>, ptr %p494, align 4, !alias.scope !1004, !noalias !2004
  %v496 = mul nsw i32 %mi96, 1024
  %v497 = mul nsw i32 3, 128
  %v498 = add nsw i32 %v496, %v497
  %v499 = mul nsw i32 %ni89, 8
  %v500 = add nsw i32 %v498, %v499
  %v501 = add nsw i32 %v500, 0
  %p502 = getelementptr inbounds float, ptr %C_local_15, i32 %v501
  store <8 x float> %v495, ptr %p502, align 4, !alias.scope !1003, !noalias !2003
  %v503 = mul nsw i32 4, 8
  %v504 = add nsw i32 %v503, 0
  %p505 = getelementptr inbounds float, ptr %acc_147, i32 %v504
  %v506 = load <8 x float>, ptr %p505, align 4, !alias.scope !1004, !noalias !2004
  %v507 = mul nsw i32 %mi96, 1024
  %v508 = mul nsw i32 4, 128
  %v509 = add nsw i32 %v507, %v508
  %v510 = mul nsw i32 %ni89, 8
  %v511 = add nsw i32 %v509, %v510
  %v512 = add nsw i32 %v511, 0
  %p513 = getelementptr inbounds float, ptr %C_local_15, i32 %v512
  store <8 x float> %v506, ptr %p513, align 4, !alias.scope !1003, !noalias !2003
  %v514 = mul nsw i32 5, 8
  %v515 = add nsw i32 %v514, 0
  %p516 = getelementptr inbounds float, ptr %acc_147, i32 %v515
  %v517 = load <8 x float>, ptr %p516, align 4, !alias.scope !1004, !noalias !2004
  %v518 = mul nsw i32 %mi96, 1024
  %v519 = mul nsw i32 5, 128
  %v520 = add nsw i32 %v518, %v519
  %v521 = mul nsw i32 %ni89, 8
  %v522 = add nsw i32 %v520, %v521
  %v523 = add nsw i32 %v522, 0
  %p524 = getelementptr inbounds float, ptr %C_local_15, i32 %v523
  store <8 x float> %v517, ptr %p524, align 4, !alias.scope !1003, !noalias !2003
  %v525 = mul nsw i32 6, 8
  %v526 = add nsw i32 %v525, 0
  %p527 = getelementptr inbounds float, ptr %acc_147, i32 %v526
  %v528 = load <8 x float>, ptr %p527, align 4, !alias.scope !1004, !noalias !2004
  %v529 = mul nsw i32 %mi96, 1024
  %v530 = mul nsw i32 6, 128
  %v531 = add nsw i32 %v529, %v530
  %v532 = mul nsw i32 %ni89, 8
  %v533 = add nsw i32 %v531, %v532
  %v534 = add nsw i32 %v533, 0
  %p535 = getelementptr inbounds float, ptr %C_local_15, i32 %v534
  store <8 x float> %v528, ptr %p535, align 4, !alias.scope !1003, !noalias !2003
  %v536 = mul nsw i32 7, 8
  %v537 = add nsw i32 %v536, 0
  %p538 = getelementptr inbounds float, ptr %acc_147, i32 %v537
  %v539 = load <8 x float>, ptr %p538, align 4, !alias.scope !1004, !noalias !2004
  %v540 = mul nsw i32 %mi96, 1024
  %v541 = mul nsw i32 7, 128
  %v542 = add nsw i32 %v540, %v541
  %v543 = mul nsw i32 %ni89, 8
  %v544 = add nsw i32 %v542, %v543
  %v545 = add nsw i32 %v544, 0
  %p546 = getelementptr inbounds float, ptr %C_local_15, i32 %v545
  store <8 x float> %v539, ptr %p546, align 4, !alias.scope !1003, !noalias !2003
  br label %next94
next94:
  %next97 = add nsw i32 %mi96, 1
  br label %for92
end95:
  br label %next87
next87:
  %next90 = add nsw i32 %ni89, 1
  br label %for85
end88:
  br label %next18
next18:
  %next21 = add nsw i32 %k20, 1
  br label %for16
end19:
  br label %for547
for547:
  %i551 = phi i32 [ 0, %end19 ], [ %next552, %next549 ]
  %v553 = icmp slt i32 %i551, 128
  br i1 %v553, label %body548, label %end550
body548:
  br label %for554
for554:
  %j_v558 = phi i32 [ 0, %body548 ], [ %next559, %next556 ]
  %v560 = icmp slt i32 %j_v558, 32
  br i1 %v560, label %body555, label %end557
body555:
  %v561 = mul nsw i32 %i551, 128
  %v562 = mul nsw i32 %j_v558, 4
  %v563 = add nsw i32 %v561, %v562
  %p564 = getelementptr inbounds float, ptr %C_local_15, i32 %v563
  %v565 = load <4 x float>, ptr %p564, align 4, !alias.scope !1003, !noalias !2003
  %v566 = mul nsw i32 %v12, 32768
  %v567 = mul nsw i32 %i551, 256
  %v568 = add nsw i32 %v566, %v567
  %v569 = mul nsw i32 %v9, 128
  %v570 = add nsw i32 %v568, %v569
  %v571 = mul nsw i32 %j_v558, 4
  %v572 = add nsw i32 %v570, %v571
  %p573 = getelementptr inbounds float, ptr %C_5, i32 %v572
  store <4 x float> %v565, ptr %p573, align 4, !alias.scope !1000, !noalias !2000
  br label %next556
next556:
  %next559 = add nsw i32 %j_v558, 1
  br label %for554
end557:
  br label %next549
next549:
  %next552 = add nsw i32 %i551, 1
  br label %for547
end550:
  br label %next_block
next_block:
  %following = add nsw i64 %number, 1
  br label %blocks
done:
  ret void
}

!1 = distinct !{!1}
!2 = !{i32 1}
!3000 = distinct !{!3000, !1}
!3001 = distinct !{!3001, !1}
!3002 = distinct !{!3002, !1}
!3003 = distinct !{!3003, !1}
!3004 = distinct !{!3004, !1}
!1000 = !{!3000}
!1001 = !{!3001}
!1002 = !{!3002}
!1003 = !{!3003}
!1004 = !{!3004}
!2000 = !{!3001, !3002, !3003, !3004}
!2001 = !{!3000, !3002, !3003, !3004}
!2002 = !{!3000, !3001, !3003, !3004}
!2003 = !{!3000, !3001, !3002, !3004}
!2004 = !{!3000, !3001, !3002, !3003}
