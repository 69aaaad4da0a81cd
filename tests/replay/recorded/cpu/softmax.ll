declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>)

define void @softmax_kernel(ptr noalias %slots, i64 %begin, i64 %end, ptr noalias %scratch) nounwind {
entry:
  %total_15 = alloca [1 x float], align 64
  %largest_16 = alloca [1 x float], align 64
  %row_17 = alloca [256 x float], align 64
  %total_18 = alloca [1 x float], align 64
  %total_v_19 = alloca [4 x <4 x float>], align 64
  %total_224 = alloca [1 x float], align 64
  %total_v_225 = alloca [4 x <4 x float>], align 64
  %X_1 = load ptr, ptr %slots
  %slot2 = getelementptr i64, ptr %slots, i64 1
  %Y_3 = load ptr, ptr %slot2
  br label %blocks
blocks:
  %number = phi i64 [ %begin, %entry ], [ %following, %next_block ]
  %v4 = icmp slt i64 %number, %end
  br i1 %v4, label %block, label %done
block:
  %v5 = urem i64 %number, 16
  %v6 = udiv i64 %number, 16
  %v7 = trunc i64 %v5 to i32
  br label %for8
for8:
  %i12 = phi i32 [ 0, %block ], [ %next13, %next10 ]
  %v14 = icmp slt i32 %i12, 4
  br i1 %v14, label %body9, label %end11
body9:
  store float 0xFFF0000000000000, ptr %total_18, align 4, !alias.scope !1004, !noalias !2004
  store <4 x float> splat (float 0xFFF0000000000000), ptr %total_v_19, align 16, !alias.scope !1005, !noalias !2005
  %p20 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 1
  store <4 x float> splat (float 0xFFF0000000000000), ptr %p20, align 16, !alias.scope !1005, !noalias !2005
  %p21 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 2
  store <4 x float> splat (float 0xFFF0000000000000), ptr %p21, align 16, !alias.scope !1005, !noalias !2005
  %p22 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 3
  store <4 x float> splat (float 0xFFF0000000000000), ptr %p22, align 16, !alias.scope !1005, !noalias !2005
  br label %for23
for23:
  %j_v27 = phi i32 [ 0, %body9 ], [ %next28, %next25 ]
  %v29 = icmp slt i32 %j_v27, 16
  br i1 %v29, label %body24, label %end26
body24:
  %v30 = mul nsw i32 %v7, 1024
  %v31 = mul nsw i32 %i12, 256
  %v32 = add nsw i32 %v30, %v31
  %v33 = mul nsw i32 %j_v27, 16
  %v34 = add nsw i32 %v32, %v33
  %p35 = getelementptr inbounds float, ptr %X_1, i32 %v34
  %v36 = load <4 x float>, ptr %p35, align 4, !alias.scope !1000, !noalias !2000
  %v37 = mul nsw i32 %j_v27, 16
  %p38 = getelementptr inbounds float, ptr %row_17, i32 %v37
  store <4 x float> %v36, ptr %p38, align 4, !alias.scope !1003, !noalias !2003
  %v39 = mul nsw i32 %j_v27, 16
  %p40 = getelementptr inbounds float, ptr %row_17, i32 %v39
  %v41 = load <4 x float>, ptr %p40, align 4, !alias.scope !1003, !noalias !2003
  %v42 = load <4 x float>, ptr %total_v_19, align 16, !alias.scope !1005, !noalias !2005
  %v43 = fcmp ogt <4 x float> %v41, %v42
  %v44 = mul nsw i32 %j_v27, 16
  %p45 = getelementptr inbounds float, ptr %row_17, i32 %v44
  %v46 = load <4 x float>, ptr %p45, align 4, !alias.scope !1003, !noalias !2003
  %v47 = load <4 x float>, ptr %total_v_19, align 16, !alias.scope !1005, !noalias !2005
  %v48 = select <4 x i1> %v43, <4 x float> %v46, <4 x float> %v47
  store <4 x float> %v48, ptr %total_v_19, align 16, !alias.scope !1005, !noalias !2005
  %v49 = mul nsw i32 %v7, 1024
  %v50 = mul nsw i32 %i12, 256
  %v51 = add nsw i32 %v49, %v50
  %v52 = mul nsw i32 %j_v27, 16
  %v53 = add nsw i32 %v52, 4
  %v54 = add nsw i32 %v51, %v53
  %p55 = getelementptr inbounds float, ptr %X_1, i32 %v54
  %v56 = load <4 x float>, ptr %p55, align 4, !alias.scope !1000, !noalias !2000
  %v57 = mul nsw i32 %j_v27, 16
  %v58 = add nsw i32 %v57, 4
  %p59 = getelementptr inbounds float, ptr %row_17, i32 %v58
  store <4 x float> %v56, ptr %p59, align 4, !alias.scope !1003, !noalias !2003
  %v60 = mul nsw i32 %j_v27, 16
  %v61 = add nsw i32 %v60, 4
  %p62 = getelementptr inbounds float, ptr %row_17, i32 %v61
  %v63 = load <4 x float>, ptr %p62, align 4, !alias.scope !1003, !noalias !2003
  %p64 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 1
  %v65 = load <4 x float>, ptr %p64, align 16, !alias.scope !1005, !noalias !2005
  %v66 = fcmp ogt <4 x float> %v63, %v65
  %v67 = mul nsw i32 %j_v27, 16
  %v68 = add nsw i32 %v67, 4
  %p69 = getelementptr inbounds float, ptr %row_17, i32 %v68
  %v70 = load <4 x float>, ptr %p69, align 4, !alias.scope !1003, !noalias !2003
  %p71 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 1
  %v72 = load <4 x float>, ptr %p71, align 16, !alias.scope !1005, !noalias !2005
  %v73 = select <4 x i1> %v66, <4 x float> %v70, <4 x float> %v72
  %p74 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 1
  store <4 x float> %v73, ptr %p74, align 16, !alias.scope !1005, !noalias !2005
  %v75 = mul nsw i32 %v7, 1024
  %v76 = mul nsw i32 %i12, 256
  %v77 = add nsw i32 %v75, %v76
  %v78 = mul nsw i32 %j_v27, 16
  %v79 = add nsw i32 %v78, 8
  %v80 = add nsw i32 %v77, %v79
  %p81 = getelementptr inbounds float, ptr %X_1, i32 %v80
  %v82 = load <4 x float>, ptr %p81, align 4, !alias.scope !1000, !noalias !2000
  %v83 = mul nsw i32 %j_v27, 16
  %v84 = add nsw i32 %v83, 8
  %p85 = getelementptr inbounds float, ptr %row_17, i32 %v84
  store <4 x float> %v82, ptr %p85, align 4, !alias.scope !1003, !noalias !2003
  %v86 = mul nsw i32 %j_v27, 16
  %v87 = add nsw i32 %v86, 8
  %p88 = getelementptr inbounds float, ptr %row_17, i32 %v87
  %v89 = load <4 x float>, ptr %p88, align 4, !alias.scope !1003, !noalias !2003
  %p90 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 2
  %v91 = load <4 x float>, ptr %p90, align 16, !alias.scope !1005, !noalias !2005
  %v92 = fcmp ogt <4 x float> %v89, %v91
  %v93 = mul nsw i32 %j_v27, 16
  %v94 = add nsw i32 %v93, 8
  %p95 = getelementptr inbounds float, ptr %row_17, i32 %v94
  %v96 = load <4 x float>, ptr %p95, align 4, !alias.scope !1003, !noalias !2003
  %p97 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 2
  %v98 = load <4 x float>, ptr %p97, align 16, !alias.scope !1005, !noalias !2005
  %v99 = select <4 x i1> %v92, <4 x float> %v96, <4 x float> %v98
  %p100 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 2
  store <4 x float> %v99, ptr %p100, align 16, !alias.scope !1005, !noalias !2005
  %v101 = mul nsw i32 %v7, 1024
  %v102 = mul nsw i32 %i12, 256
  %v103 = add nsw i32 %v101, %v102
  %v104 = mul nsw i32 %j_v27, 16
  %v105 = add nsw i32 %v104, 12
  %v106 = add nsw i32 %v103, %v105
  %p107 = getelementptr inbounds float, ptr %X_1, i32 %v106
  %v108 = load <4 x float>, ptr %p107, align 4, !alias.scope !1000, !noalias !2000
  %v109 = mul nsw i32 %j_v27, 16
  %v110 = add nsw i32 %v109, 12
  %p111 = getelementptr inbounds float, ptr %row_17, i32 %v110
  store <4 x float> %v108, ptr %p111, align 4, !alias.scope !1003, !noalias !2003
  %v112 = mul nsw i32 %j_v27, 16
  %v113 = add nsw i32 %v112, 12
  %p114 = getelementptr inbounds float, ptr %row_17, i32 %v113
  %v115 = load <4 x float>, ptr %p114, align 4, !alias.scope !1003, !noalias !2003
  %p116 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 3
  %v117 = load <4 x float>, ptr %p116, align 16, !alias.scope !1005, !noalias !2005
  %v118 = fcmp ogt <4 x float> %v115, %v117
  %v119 = mul nsw i32 %j_v27, 16
  %v120 = add nsw i32 %v119, 12
  %p121 = getelementptr inbounds float, ptr %row_17, i32 %v120
  %v122 = load <4 x float>, ptr %p121, align 4, !alias.scope !1003, !noalias !2003
  %p123 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 3
  %v124 = load <4 x float>, ptr %p123, align 16, !alias.scope !1005, !noalias !2005
  %v125 = select <4 x i1> %v118, <4 x float> %v122, <4 x float> %v124
  %p126 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 3
  store <4 x float> %v125, ptr %p126, align 16, !alias.scope !1005, !noalias !2005
  br label %next25
next25:
  %next28 = add nsw i32 %j_v27, 1
  br label %for23
end26:
  %p127 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 3
  %v128 = load <4 x float>, ptr %p127, align 16, !alias.scope !1005, !noalias !2005
  %p129 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 2
  %v130 = load <4 x float>, ptr %p129, align 16, !alias.scope !1005, !noalias !2005
  %v131 = fcmp ogt <4 x float> %v128, %v130
  %p132 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 3
  %v133 = load <4 x float>, ptr %p132, align 16, !alias.scope !1005, !noalias !2005
  %p134 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 2
  %v135 = load <4 x float>, ptr %p134, align 16, !alias.scope !1005, !noalias !2005
  %v136 = select <4 x i1> %v131, <4 x float> %v133, <4 x float> %v135
  %p137 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 1
  %v138 = load <4 x float>, ptr %p137, align 16, !alias.scope !1005, !noalias !2005
  %v139 = load <4 x float>, ptr %total_v_19, align 16, !alias.scope !1005, !noalias !2005
  %v140 = fcmp ogt <4 x float> %v138, %v139
  %p141 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 1
  %v142 = load <4 x float>, ptr %p141, align 16, !alias.scope !1005, !noalias !2005
  %v143 = load <4 x float>, ptr %total_v_19, align 16, !alias.scope !1005, !noalias !2005
  %v144 = select <4 x i1> %v140, <4 x float> %v142, <4 x float> %v143
  %v145 = fcmp ogt <4 x float> %v136, %v144
  %p146 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 3
  %v147 = load <4 x float>, ptr %p146, align 16, !alias.scope !1005, !noalias !2005
  %p148 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 2
  %v149 = load <4 x float>, ptr %p148, align 16, !alias.scope !1005, !noalias !2005
  %v150 = fcmp ogt <4 x float> %v147, %v149
  %p151 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 3
  %v152 = load <4 x float>, ptr %p151, align 16, !alias.scope !1005, !noalias !2005
  %p153 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 2
  %v154 = load <4 x float>, ptr %p153, align 16, !alias.scope !1005, !noalias !2005
  %v155 = select <4 x i1> %v150, <4 x float> %v152, <4 x float> %v154
  %p156 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 1
  %v157 = load <4 x float>, ptr %p156, align 16, !alias.scope !1005, !noalias !2005
  %v158 = load <4 x float>, ptr %total_v_19, align 16, !alias.scope !1005, !noalias !2005
  %v159 = fcmp ogt <4 x float> %v157, %v158
  %p160 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 1
  %v161 = load <4 x float>, ptr %p160, align 16, !alias.scope !1005, !noalias !2005
  %v162 = load <4 x float>, ptr %total_v_19, align 16, !alias.scope !1005, !noalias !2005
  %v163 = select <4 x i1> %v159, <4 x float> %v161, <4 x float> %v162
  %v164 = select <4 x i1> %v145, <4 x float> %v155, <4 x float> %v163
  %v165 = shufflevector <4 x float> %v164, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v166 = shufflevector <4 x float> %v164, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v167 = fcmp ogt <2 x float> %v166, %v165
  %v168 = select <2 x i1> %v167, <2 x float> %v166, <2 x float> %v165
  %v169 = extractelement <2 x float> %v168, i64 0
  %v170 = extractelement <2 x float> %v168, i64 1
  %v171 = fcmp ogt float %v170, %v169
  %v172 = select i1 %v171, float %v170, float %v169
  %v173 = load float, ptr %total_18, align 4, !alias.scope !1004, !noalias !2004
  %v174 = fcmp ogt float %v172, %v173
  %p175 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 3
  %v176 = load <4 x float>, ptr %p175, align 16, !alias.scope !1005, !noalias !2005
  %p177 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 2
  %v178 = load <4 x float>, ptr %p177, align 16, !alias.scope !1005, !noalias !2005
  %v179 = fcmp ogt <4 x float> %v176, %v178
  %p180 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 3
  %v181 = load <4 x float>, ptr %p180, align 16, !alias.scope !1005, !noalias !2005
  %p182 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 2
  %v183 = load <4 x float>, ptr %p182, align 16, !alias.scope !1005, !noalias !2005
  %v184 = select <4 x i1> %v179, <4 x float> %v181, <4 x float> %v183
  %p185 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 1
  %v186 = load <4 x float>, ptr %p185, align 16, !alias.scope !1005, !noalias !2005
  %v187 = load <4 x float>, ptr %total_v_19, align 16, !alias.scope !1005, !noalias !2005
  %v188 = fcmp ogt <4 x float> %v186, %v187
  %p189 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 1
  %v190 = load <4 x float>, ptr %p189, align 16, !alias.scope !1005, !noalias !2005
  %v191 = load <4 x float>, ptr %total_v_19, align 16, !alias.scope !1005, !noalias !2005
  %v192 = select <4 x i1> %v188, <4 x float> %v190, <4 x float> %v191
  %v193 = fcmp ogt <4 x float> %v184, %v192
  %p194 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 3
  %v195 = load <4 x float>, ptr %p194, align 16, !alias.scope !1005, !noalias !2005
  %p196 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 2
  %v197 = load <4 x float>, ptr %p196, align 16, !alias.scope !1005, !noalias !2005
  %v198 = fcmp ogt <4 x float> %v195, %v197
  %p199 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 3
  %v200 = load <4 x float>, ptr %p199, align 16, !alias.scope !1005, !noalias !2005
  %p201 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 2
  %v202 = load <4 x float>, ptr %p201, align 16, !alias.scope !1005, !noalias !2005
  %v203 = select <4 x i1> %v198, <4 x float> %v200, <4 x float> %v202
  %p204 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 1
  %v205 = load <4 x float>, ptr %p204, align 16, !alias.scope !1005, !noalias !2005
  %v206 = load <4 x float>, ptr %total_v_19, align 16, !alias.scope !1005, !noalias !2005
  %v207 = fcmp ogt <4 x float> %v205, %v206
  %p208 = getelementptr inbounds <4 x float>, ptr %total_v_19, i32 1
  %v209 = load <4 x float>, ptr %p208, align 16, !alias.scope !1005, !noalias !2005
  %v210 = load <4 x float>, ptr %total_v_19, align 16, !alias.scope !1005, !noalias !2005
  %v211 = select <4 x i1> %v207, <4 x float> %v209, <4 x float> %v210
  %v212 = select <4 x i1> %v193, <4 x float> %v203, <4 x float> %v211
  %v213 = shufflevector <4 x float> %v212, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v214 = shufflevector <4 x float> %v212, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v215 = fcmp ogt <2 x float> %v214, %v213
  %v216 = select <2 x i1> %v215, <2 x float> %v214, <2 x float> %v213
  %v217 = extractelement <2 x float> %v216, i64 0
  %v218 = extractelement <2 x float> %v216, i64 1
  %v219 = fcmp ogt float %v218, %v217
  %v220 = select i1 %v219, float %v218, float %v217
  %v221 = load float, ptr %total_18, align 4, !alias.scope !1004, !noalias !2004
  %v222 = select i1 %v174, float %v220, float %v221
  store float %v222, ptr %total_18, align 4, !alias.scope !1004, !noalias !2004
  %v223 = load float, ptr %total_18, align 4, !alias.scope !1004, !noalias !2004
  store float %v223, ptr %largest_16, align 4, !alias.scope !1002, !noalias !2002
  store float 0x0000000000000000, ptr %total_224, align 4, !alias.scope !1006, !noalias !2006
  store <4 x float> splat (float 0x0000000000000000), ptr %total_v_225, align 16, !alias.scope !1007, !noalias !2007
  %p226 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 1
  store <4 x float> splat (float 0x0000000000000000), ptr %p226, align 16, !alias.scope !1007, !noalias !2007
  %p227 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 2
  store <4 x float> splat (float 0x0000000000000000), ptr %p227, align 16, !alias.scope !1007, !noalias !2007
  %p228 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 3
  store <4 x float> splat (float 0x0000000000000000), ptr %p228, align 16, !alias.scope !1007, !noalias !2007
  br label %for229
for229:
  %j_v233 = phi i32 [ 0, %end26 ], [ %next234, %next231 ]
  %v235 = icmp slt i32 %j_v233, 16
  br i1 %v235, label %body230, label %end232
body230:
  %v236 = mul nsw i32 %j_v233, 16
  %p237 = getelementptr inbounds float, ptr %row_17, i32 %v236
  %v238 = load <4 x float>, ptr %p237, align 4, !alias.scope !1003, !noalias !2003
  %v239 = load float, ptr %largest_16, align 4, !alias.scope !1002, !noalias !2002
  %v240 = insertelement <4 x float> poison, float %v239, i64 0
  %v241 = shufflevector <4 x float> %v240, <4 x float> poison, <4 x i32> zeroinitializer
  %v242 = fsub <4 x float> %v238, %v241
  %v243 = fcmp olt <4 x float> %v242, splat (float 0xC05A200000000000)
  %v244 = select <4 x i1> %v243, <4 x float> splat (float 0xC05A200000000000), <4 x float> %v242
  %v245 = fcmp ogt <4 x float> %v244, splat (float 0x4056400000000000)
  %v246 = select <4 x i1> %v245, <4 x float> splat (float 0x4056400000000000), <4 x float> %v244
  %v247 = fmul <4 x float> %v246, splat (float 0x3FF7154760000000)
  %v248 = fadd <4 x float> %v247, splat (float 0x4168000000000000)
  %v249 = fsub <4 x float> %v248, splat (float 0x4168000000000000)
  %v250 = bitcast <4 x float> %v248 to <4 x i32>
  %v251 = sub <4 x i32> %v250, splat (i32 1262485504)
  %v252 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v249, <4 x float> splat (float 0xBFE62E4000000000), <4 x float> %v246)
  %v253 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v249, <4 x float> splat (float 0xBEB7F7D1C0000000), <4 x float> %v252)
  %v254 = fmul <4 x float> %v253, %v253
  %v255 = call <4 x float> @llvm.fma.v4f32(<4 x float> splat (float 0x3F56A243A0000000), <4 x float> %v253, <4 x float> splat (float 0x3F81239E00000000))
  %v256 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v255, <4 x float> %v253, <4 x float> splat (float 0x3FA5558F20000000))
  %v257 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v256, <4 x float> %v253, <4 x float> splat (float 0x3FC5554920000000))
  %v258 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v257, <4 x float> %v253, <4 x float> splat (float 0x3FDFFFFFC0000000))
  %v259 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v254, <4 x float> %v258, <4 x float> %v253)
  %v260 = fadd <4 x float> %v259, splat (float 0x3FF0000000000000)
  %v261 = ashr <4 x i32> %v251, splat (i32 1)
  %v262 = sub <4 x i32> %v251, %v261
  %v263 = add <4 x i32> %v261, splat (i32 127)
  %v264 = shl <4 x i32> %v263, splat (i32 23)
  %v265 = bitcast <4 x i32> %v264 to <4 x float>
  %v266 = fmul <4 x float> %v260, %v265
  %v267 = add <4 x i32> %v262, splat (i32 127)
  %v268 = shl <4 x i32> %v267, splat (i32 23)
  %v269 = bitcast <4 x i32> %v268 to <4 x float>
  %v270 = fmul <4 x float> %v266, %v269
  %v271 = mul nsw i32 %j_v233, 16
  %p272 = getelementptr inbounds float, ptr %row_17, i32 %v271
  store <4 x float> %v270, ptr %p272, align 4, !alias.scope !1003, !noalias !2003
  %v273 = load <4 x float>, ptr %total_v_225, align 16, !alias.scope !1007, !noalias !2007
  %v274 = mul nsw i32 %j_v233, 16
  %p275 = getelementptr inbounds float, ptr %row_17, i32 %v274
  %v276 = load <4 x float>, ptr %p275, align 4, !alias.scope !1003, !noalias !2003
  %v277 = fadd <4 x float> %v273, %v276
  store <4 x float> %v277, ptr %total_v_225, align 16, !alias.scope !1007, !noalias !2007
  %v278 = mul nsw i32 %j_v233, 16
  %v279 = add nsw i32 %v278, 4
  %p280 = getelementptr inbounds float, ptr %row_17, i32 %v279
  %v281 = load <4 x float>, ptr %p280, align 4, !alias.scope !1003, !noalias !2003
  %v282 = load float, ptr %largest_16, align 4, !alias.scope !1002, !noalias !2002
  %v283 = insertelement <4 x float> poison, float %v282, i64 0
  %v284 = shufflevector <4 x float> %v283, <4 x float> poison, <4 x i32> zeroinitializer
  %v285 = fsub <4 x float> %v281, %v284
  %v286 = fcmp olt <4 x float> %v285, splat (float 0xC05A200000000000)
  %v287 = select <4 x i1> %v286, <4 x float> splat (float 0xC05A200000000000), <4 x float> %v285
  %v288 = fcmp ogt <4 x float> %v287, splat (float 0x4056400000000000)
  %v289 = select <4 x i1> %v288, <4 x float> splat (float 0x4056400000000000), <4 x float> %v287
  %v290 = fmul <4 x float> %v289, splat (float 0x3FF7154760000000)
  %v291 = fadd <4 x float> %v290, splat (float 0x4168000000000000)
  %v292 = fsub <4 x float> %v291, splat (float 0x4168000000000000)
  %v293 = bitcast <4 x float> %v291 to <4 x i32>
  %v294 = sub <4 x i32> %v293, splat (i32 1262485504)
  %v295 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v292, <4 x float> splat (float 0xBFE62E4000000000), <4 x float> %v289)
  %v296 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v292, <4 x float> splat (float 0xBEB7F7D1C0000000), <4 x float> %v295)
  %v297 = fmul <4 x float> %v296, %v296
  %v298 = call <4 x float> @llvm.fma.v4f32(<4 x float> splat (float 0x3F56A243A0000000), <4 x float> %v296, <4 x float> splat (float 0x3F81239E00000000))
  %v299 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v298, <4 x float> %v296, <4 x float> splat (float 0x3FA5558F20000000))
  %v300 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v299, <4 x float> %v296, <4 x float> splat (float 0x3FC5554920000000))
  %v301 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v300, <4 x float> %v296, <4 x float> splat (float 0x3FDFFFFFC0000000))
  %v302 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v297, <4 x float> %v301, <4 x float> %v296)
  %v303 = fadd <4 x float> %v302, splat (float 0x3FF0000000000000)
  %v304 = ashr <4 x i32> %v294, splat (i32 1)
  %v305 = sub <4 x i32> %v294, %v304
  %v306 = add <4 x i32> %v304, splat (i32 127)
  %v307 = shl <4 x i32> %v306, splat (i32 23)
  %v308 = bitcast <4 x i32> %v307 to <4 x float>
  %v309 = fmul <4 x float> %v303, %v308
  %v310 = add <4 x i32> %v305, splat (i32 127)
  %v311 = shl <4 x i32> %v310, splat (i32 23)
  %v312 = bitcast <4 x i32> %v311 to <4 x float>
  %v313 = fmul <4 x float> %v309, %v312
  %v314 = mul nsw i32 %j_v233, 16
  %v315 = add nsw i32 %v314, 4
  %p316 = getelementptr inbounds float, ptr %row_17, i32 %v315
  store <4 x float> %v313, ptr %p316, align 4, !alias.scope !1003, !noalias !2003
  %p317 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 1
  %v318 = load <4 x float>, ptr %p317, align 16, !alias.scope !1007, !noalias !2007
  %v319 = mul nsw i32 %j_v233, 16
  %v320 = add nsw i32 %v319, 4
  %p321 = getelementptr inbounds float, ptr %row_17, i32 %v320
  %v322 = load <4 x float>, ptr %p321, align 4, !alias.scope !1003, !noalias !2003
  %v323 = fadd <4 x float> %v318, %v322
  %p324 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 1
  store <4 x float> %v323, ptr %p324, align 16, !alias.scope !1007, !noalias !2007
  %v325 = mul nsw i32 %j_v233, 16
  %v326 = add nsw i32 %v325, 8
  %p327 = getelementptr inbounds float, ptr %row_17, i32 %v326
  %v328 = load <4 x float>, ptr %p327, align 4, !alias.scope !1003, !noalias !2003
  %v329 = load float, ptr %largest_16, align 4, !alias.scope !1002, !noalias !2002
  %v330 = insertelement <4 x float> poison, float %v329, i64 0
  %v331 = shufflevector <4 x float> %v330, <4 x float> poison, <4 x i32> zeroinitializer
  %v332 = fsub <4 x float> %v328, %v331
  %v333 = fcmp olt <4 x float> %v332, splat (float 0xC05A200000000000)
  %v334 = select <4 x i1> %v333, <4 x float> splat (float 0xC05A200000000000), <4 x float> %v332
  %v335 = fcmp ogt <4 x float> %v334, splat (float 0x4056400000000000)
  %v336 = select <4 x i1> %v335, <4 x float> splat (float 0x4056400000000000), <4 x float> %v334
  %v337 = fmul <4 x float> %v336, splat (float 0x3FF7154760000000)
  %v338 = fadd <4 x float> %v337, splat (float 0x4168000000000000)
  %v339 = fsub <4 x float> %v338, splat (float 0x4168000000000000)
  %v340 = bitcast <4 x float> %v338 to <4 x i32>
  %v341 = sub <4 x i32> %v340, splat (i32 1262485504)
  %v342 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v339, <4 x float> splat (float 0xBFE62E4000000000), <4 x float> %v336)
  %v343 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v339, <4 x float> splat (float 0xBEB7F7D1C0000000), <4 x float> %v342)
  %v344 = fmul <4 x float> %v343, %v343
  %v345 = call <4 x float> @llvm.fma.v4f32(<4 x float> splat (float 0x3F56A243A0000000), <4 x float> %v343, <4 x float> splat (float 0x3F81239E00000000))
  %v346 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v345, <4 x float> %v343, <4 x float> splat (float 0x3FA5558F20000000))
  %v347 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v346, <4 x float> %v343, <4 x float> splat (float 0x3FC5554920000000))
  %v348 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v347, <4 x float> %v343, <4 x float> splat (float 0x3FDFFFFFC0000000))
  %v349 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v344, <4 x float> %v348, <4 x float> %v343)
  %v350 = fadd <4 x float> %v349, splat (float 0x3FF0000000000000)
  %v351 = ashr <4 x i32> %v341, splat (i32 1)
  %v352 = sub <4 x i32> %v341, %v351
  %v353 = add <4 x i32> %v351, splat (i32 127)
  %v354 = shl <4 x i32> %v353, splat (i32 23)
  %v355 = bitcast <4 x i32> %v354 to <4 x float>
  %v356 = fmul <4 x float> %v350, %v355
  %v357 = add <4 x i32> %v352, splat (i32 127)
  %v358 = shl <4 x i32> %v357, splat (i32 23)
  %v359 = bitcast <4 x i32> %v358 to <4 x float>
  %v360 = fmul <4 x float> %v356, %v359
  %v361 = mul nsw i32 %j_v233, 16
  %v362 = add nsw i32 %v361, 8
  %p363 = getelementptr inbounds float, ptr %row_17, i32 %v362
  store <4 x float> %v360, ptr %p363, align 4, !alias.scope !1003, !noalias !2003
  %p364 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 2
  %v365 = load <4 x float>, ptr %p364, align 16, !alias.scope !1007, !noalias !2007
  %v366 = mul nsw i32 %j_v233, 16
  %v367 = add nsw i32 %v366, 8
  %p368 = getelementptr inbounds float, ptr %row_17, i32 %v367
  %v369 = load <4 x float>, ptr %p368, align 4, !alias.scope !1003, !noalias !2003
  %v370 = fadd <4 x float> %v365, %v369
  %p371 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 2
  store <4 x float> %v370, ptr %p371, align 16, !alias.scope !1007, !noalias !2007
  %v372 = mul nsw i32 %j_v233, 16
  %v373 = add nsw i32 %v372, 12
  %p374 = getelementptr inbounds float, ptr %row_17, i32 %v373
  %v375 = load <4 x float>, ptr %p374, align 4, !alias.scope !1003, !noalias !2003
  %v376 = load float, ptr %largest_16, align 4, !alias.scope !1002, !noalias !2002
  %v377 = insertelement <4 x float> poison, float %v376, i64 0
  %v378 = shufflevector <4 x float> %v377, <4 x float> poison, <4 x i32> zeroinitializer
  %v379 = fsub <4 x float> %v375, %v378
  %v380 = fcmp olt <4 x float> %v379, splat (float 0xC05A200000000000)
  %v381 = select <4 x i1> %v380, <4 x float> splat (float 0xC05A200000000000), <4 x float> %v379
  %v382 = fcmp ogt <4 x float> %v381, splat (float 0x4056400000000000)
  %v383 = select <4 x i1> %v382, <4 x float> splat (float 0x4056400000000000), <4 x float> %v381
  %v384 = fmul <4 x float> %v383, splat (float 0x3FF7154760000000)
  %v385 = fadd <4 x float> %v384, splat (float 0x4168000000000000)
  %v386 = fsub <4 x float> %v385, splat (float 0x4168000000000000)
  %v387 = bitcast <4 x float> %v385 to <4 x i32>
  %v388 = sub <4 x i32> %v387, splat (i32 1262485504)
  %v389 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v386, <4 x float> splat (float 0xBFE62E4000000000), <4 x float> %v383)
  %v390 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v386, <4 x float> splat (float 0xBEB7F7D1C0000000), <4 x float> %v389)
  %v391 = fmul <4 x float> %v390, %v390
  %v392 = call <4 x float> @llvm.fma.v4f32(<4 x float> splat (float 0x3F56A243A0000000), <4 x float> %v390, <4 x float> splat (float 0x3F81239E00000000))
  %v393 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v392, <4 x float> %v390, <4 x float> splat (float 0x3FA5558F20000000))
  %v394 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v393, <4 x float> %v390, <4 x float> splat (float 0x3FC5554920000000))
  %v395 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v394, <4 x float> %v390, <4 x float> splat (float 0x3FDFFFFFC0000000))
  %v396 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v391, <4 x float> %v395, <4 x float> %v390)
  %v397 = fadd <4 x float> %v396, splat (float 0x3FF0000000000000)
  %v398 = ashr <4 x i32> %v388, splat (i32 1)
  %v399 = sub <4 x i32> %v388, %v398
  %v400 = add <4 x i32> %v398, splat (i32 127)
  %v401 = shl <4 x i32> %v400, splat (i32 23)
  %v402 = bitcast <4 x i32> %v401 to <4 x float>
  %v403 = fmul <4 x float> %v397, %v402
  %v404 = add <4 x i32> %v399, splat (i32 127)
  %v405 = shl <4 x i32> %v404, splat (i32 23)
  %v406 = bitcast <4 x i32> %v405 to <4 x float>
  %v407 = fmul <4 x float> %v403, %v406
  %v408 = mul nsw i32 %j_v233, 16
  %v409 = add nsw i32 %v408, 12
  %p410 = getelementptr inbounds float, ptr %row_17, i32 %v409
  store <4 x float> %v407, ptr %p410, align 4, !alias.scope !1003, !noalias !2003
  %p411 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 3
  %v412 = load <4 x float>, ptr %p411, align 16, !alias.scope !1007, !noalias !2007
  %v413 = mul nsw i32 %j_v233, 16
  %v414 = add nsw i32 %v413, 12
  %p415 = getelementptr inbounds float, ptr %row_17, i32 %v414
  %v416 = load <4 x float>, ptr %p415, align 4, !alias.scope !1003, !noalias !2003
  %v417 = fadd <4 x float> %v412, %v416
  %p418 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 3
  store <4 x float> %v417, ptr %p418, align 16, !alias.scope !1007, !noalias !2007
  br label %next231
next231:
  %next234 = add nsw i32 %j_v233, 1
  br label %for229
end232:
  %v419 = load float, ptr %total_224, align 4, !alias.scope !1006, !noalias !2006
  %v420 = load <4 x float>, ptr %total_v_225, align 16, !alias.scope !1007, !noalias !2007
  %p421 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 1
  %v422 = load <4 x float>, ptr %p421, align 16, !alias.scope !1007, !noalias !2007
  %v423 = fadd <4 x float> %v420, %v422
  %p424 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 2
  %v425 = load <4 x float>, ptr %p424, align 16, !alias.scope !1007, !noalias !2007
  %p426 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 3
  %v427 = load <4 x float>, ptr %p426, align 16, !alias.scope !1007, !noalias !2007
  %v428 = fadd <4 x float> %v425, %v427
  %v429 = fadd <4 x float> %v423, %v428
  %v430 = shufflevector <4 x float> %v429, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v431 = shufflevector <4 x float> %v429, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v432 = fadd <2 x float> %v430, %v431
  %v433 = extractelement <2 x float> %v432, i64 0
  %v434 = extractelement <2 x float> %v432, i64 1
  %v435 = fadd float %v433, %v434
  %v436 = fadd float %v419, %v435
  store float %v436, ptr %total_224, align 4, !alias.scope !1006, !noalias !2006
  %v437 = load float, ptr %total_224, align 4, !alias.scope !1006, !noalias !2006
  store float %v437, ptr %total_15, align 4, !alias.scope !1001, !noalias !2001
  br label %for438
for438:
  %j_1_v442 = phi i32 [ 0, %end232 ], [ %next443, %next440 ]
  %v444 = icmp slt i32 %j_1_v442, 64
  br i1 %v444, label %body439, label %end441
body439:
  %v445 = mul nsw i32 %j_1_v442, 4
  %p446 = getelementptr inbounds float, ptr %row_17, i32 %v445
  %v447 = load <4 x float>, ptr %p446, align 4, !alias.scope !1003, !noalias !2003
  %v448 = load float, ptr %total_15, align 4, !alias.scope !1001, !noalias !2001
  %v449 = insertelement <4 x float> poison, float %v448, i64 0
  %v450 = shufflevector <4 x float> %v449, <4 x float> poison, <4 x i32> zeroinitializer
  %v451 = fdiv <4 x float> %v447, %v450
  %v452 = mul nsw i32 %j_1_v442, 4
  %p453 = getelementptr inbounds float, ptr %row_17, i32 %v452
  store <4 x float> %v451, ptr %p453, align 4, !alias.scope !1003, !noalias !2003
  %v454 = mul nsw i32 %j_1_v442, 4
  %p455 = getelementptr inbounds float, ptr %row_17, i32 %v454
  %v456 = load <4 x float>, ptr %p455, align 4, !alias.scope !1003, !noalias !2003
  %v457 = mul nsw i32 %v7, 1024
  %v458 = mul nsw i32 %i12, 256
  %v459 = add nsw i32 %v457, %v458
  %v460 = mul nsw i32 %j_1_v442, 4
  %v461 = add nsw i32 %v459, %v460
  %p462 = getelementptr inbounds float, ptr %Y_3, i32 %v461
  store <4 x float> %v456, ptr %p462, align 4, !alias.scope !1000, !noalias !2000
  br label %next440
next440:
  %next443 = add nsw i32 %j_1_v442, 1
  br label %for438
end441:
  br label %next10
next10:
  %next13 = add nsw i32 %i12, 1
  br label %for8
end11:
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
!3005 = distinct !{!3005, !1}
!3006 = distinct !{!3006, !1}
!3007 = distinct !{!3007, !1}
!1000 = !{!3000}
!1001 = !{!3001}
!1002 = !{!3002}
!1003 = !{!3003}
!1004 = !{!3004}
!1005 = !{!3005}
!1006 = !{!3006}
!1007 = !{!3007}
!2000 = !{!3001, !3002, !3003, !3004, !3005, !3006, !3007}
!2001 = !{!3000, !3002, !3003, !3004, !3005, !3006, !3007}
!2002 = !{!3000, !3001, !3003, !3004, !3005, !3006, !3007}
!2003 = !{!3000, !3001, !3002, !3004, !3005, !3006, !3007}
!2004 = !{!3000, !3001, !3002, !3003, !3005, !3006, !3007}
!2005 = !{!3000, !3001, !3002, !3003, !3004, !3006, !3007}
!2006 = !{!3000, !3001, !3002, !3003, !3004, !3005, !3007}
!2007 = !{!3000, !3001, !3002, !3003, !3004, !3005, !3006}
