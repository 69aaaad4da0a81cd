declare <4 x float> @llvm.arithmetic.fence.v4f32(<4 x float>)
declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>)

define void @softmax_kernel(ptr noalias %slots, i64 %begin, i64 %end, ptr noalias %scratch) nounwind {
entry:
  %scale_15 = alloca [1 x float], align 64
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
  %v5 = urem i64 %number, 8
  %v6 = udiv i64 %number, 8
  %v7 = trunc i64 %v5 to i32
  br label %for8
for8:
  %i12 = phi i32 [ 0, %block ], [ %next13, %next10 ]
  %v14 = icmp slt i32 %i12, 8
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
  %v30 = mul nsw i32 %v7, 2048
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
  %v49 = mul nsw i32 %v7, 2048
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
  %v75 = mul nsw i32 %v7, 2048
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
  %v101 = mul nsw i32 %v7, 2048
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
  store <4 x float> splat (float 0x8000000000000000), ptr %total_v_225, align 16, !alias.scope !1007, !noalias !2007
  %p226 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 1
  store <4 x float> splat (float 0x8000000000000000), ptr %p226, align 16, !alias.scope !1007, !noalias !2007
  %p227 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 2
  store <4 x float> splat (float 0x8000000000000000), ptr %p227, align 16, !alias.scope !1007, !noalias !2007
  %p228 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 3
  store <4 x float> splat (float 0x8000000000000000), ptr %p228, align 16, !alias.scope !1007, !noalias !2007
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
  %v243 = fmul <4 x float> %v242, splat (float 0x3FF7154760000000)
  %v244 = call <4 x float> @llvm.arithmetic.fence.v4f32(<4 x float> %v243)
  %v245 = fcmp olt <4 x float> %v244, splat (float 0xC062E00000000000)
  %v246 = select <4 x i1> %v245, <4 x float> splat (float 0xC062E00000000000), <4 x float> %v244
  %v247 = fcmp ogt <4 x float> %v246, splat (float 0x4060100000000000)
  %v248 = select <4 x i1> %v247, <4 x float> splat (float 0x4060100000000000), <4 x float> %v246
  %v249 = fadd <4 x float> %v248, splat (float 0x4168000000000000)
  %v250 = fsub <4 x float> %v249, splat (float 0x4168000000000000)
  %v251 = bitcast <4 x float> %v249 to <4 x i32>
  %v252 = sub <4 x i32> %v251, splat (i32 1262485504)
  %v253 = fsub <4 x float> %v248, %v250
  %v254 = fmul <4 x float> %v253, splat (float 0x3FE62E4300000000)
  %v255 = fmul <4 x float> %v253, %v253
  %v256 = call <4 x float> @llvm.fma.v4f32(<4 x float> splat (float 0x3F241FBBC0000000), <4 x float> %v253, <4 x float> splat (float 0x3F55F3E540000000))
  %v257 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v256, <4 x float> %v253, <4 x float> splat (float 0x3F83B2D4C0000000))
  %v258 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v257, <4 x float> %v253, <4 x float> splat (float 0x3FAC6AEE80000000))
  %v259 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v258, <4 x float> %v253, <4 x float> splat (float 0x3FCEBFBDC0000000))
  %v260 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v255, <4 x float> %v259, <4 x float> %v254)
  %v261 = fadd <4 x float> %v260, splat (float 0x3FF0000000000000)
  %v262 = ashr <4 x i32> %v252, splat (i32 1)
  %v263 = sub <4 x i32> %v252, %v262
  %v264 = add <4 x i32> %v262, splat (i32 127)
  %v265 = shl <4 x i32> %v264, splat (i32 23)
  %v266 = bitcast <4 x i32> %v265 to <4 x float>
  %v267 = fmul <4 x float> %v261, %v266
  %v268 = add <4 x i32> %v263, splat (i32 127)
  %v269 = shl <4 x i32> %v268, splat (i32 23)
  %v270 = bitcast <4 x i32> %v269 to <4 x float>
  %v271 = fmul <4 x float> %v267, %v270
  %v272 = mul nsw i32 %j_v233, 16
  %p273 = getelementptr inbounds float, ptr %row_17, i32 %v272
  store <4 x float> %v271, ptr %p273, align 4, !alias.scope !1003, !noalias !2003
  %v274 = load <4 x float>, ptr %total_v_225, align 16, !alias.scope !1007, !noalias !2007
  %v275 = mul nsw i32 %j_v233, 16
  %p276 = getelementptr inbounds float, ptr %row_17, i32 %v275
  %v277 = load <4 x float>, ptr %p276, align 4, !alias.scope !1003, !noalias !2003
  %v278 = fadd <4 x float> %v274, %v277
  store <4 x float> %v278, ptr %total_v_225, align 16, !alias.scope !1007, !noalias !2007
  %v279 = mul nsw i32 %j_v233, 16
  %v280 = add nsw i32 %v279, 4
  %p281 = getelementptr inbounds float, ptr %row_17, i32 %v280
  %v282 = load <4 x float>, ptr %p281, align 4, !alias.scope !1003, !noalias !2003
  %v283 = load float, ptr %largest_16, align 4, !alias.scope !1002, !noalias !2002
  %v284 = insertelement <4 x float> poison, float %v283, i64 0
  %v285 = shufflevector <4 x float> %v284, <4 x float> poison, <4 x i32> zeroinitializer
  %v286 = fsub <4 x float> %v282, %v285
  %v287 = fmul <4 x float> %v286, splat (float 0x3FF7154760000000)
  %v288 = call <4 x float> @llvm.arithmetic.fence.v4f32(<4 x float> %v287)
  %v289 = fcmp olt <4 x float> %v288, splat (float 0xC062E00000000000)
  %v290 = select <4 x i1> %v289, <4 x float> splat (float 0xC062E00000000000), <4 x float> %v288
  %v291 = fcmp ogt <4 x float> %v290, splat (float 0x4060100000000000)
  %v292 = select <4 x i1> %v291, <4 x float> splat (float 0x4060100000000000), <4 x float> %v290
  %v293 = fadd <4 x float> %v292, splat (float 0x4168000000000000)
  %v294 = fsub <4 x float> %v293, splat (float 0x4168000000000000)
  %v295 = bitcast <4 x float> %v293 to <4 x i32>
  %v296 = sub <4 x i32> %v295, splat (i32 1262485504)
  %v297 = fsub <4 x float> %v292, %v294
  %v298 = fmul <4 x float> %v297, splat (float 0x3FE62E4300000000)
  %v299 = fmul <4 x float> %v297, %v297
  %v300 = call <4 x float> @llvm.fma.v4f32(<4 x float> splat (float 0x3F241FBBC0000000), <4 x float> %v297, <4 x float> splat (float 0x3F55F3E540000000))
  %v301 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v300, <4 x float> %v297, <4 x float> splat (float 0x3F83B2D4C0000000))
  %v302 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v301, <4 x float> %v297, <4 x float> splat (float 0x3FAC6AEE80000000))
  %v303 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v302, <4 x float> %v297, <4 x float> splat (float 0x3FCEBFBDC0000000))
  %v304 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v299, <4 x float> %v303, <4 x float> %v298)
  %v305 = fadd <4 x float> %v304, splat (float 0x3FF0000000000000)
  %v306 = ashr <4 x i32> %v296, splat (i32 1)
  %v307 = sub <4 x i32> %v296, %v306
  %v308 = add <4 x i32> %v306, splat (i32 127)
  %v309 = shl <4 x i32> %v308, splat (i32 23)
  %v310 = bitcast <4 x i32> %v309 to <4 x float>
  %v311 = fmul <4 x float> %v305, %v310
  %v312 = add <4 x i32> %v307, splat (i32 127)
  %v313 = shl <4 x i32> %v312, splat (i32 23)
  %v314 = bitcast <4 x i32> %v313 to <4 x float>
  %v315 = fmul <4 x float> %v311, %v314
  %v316 = mul nsw i32 %j_v233, 16
  %v317 = add nsw i32 %v316, 4
  %p318 = getelementptr inbounds float, ptr %row_17, i32 %v317
  store <4 x float> %v315, ptr %p318, align 4, !alias.scope !1003, !noalias !2003
  %p319 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 1
  %v320 = load <4 x float>, ptr %p319, align 16, !alias.scope !1007, !noalias !2007
  %v321 = mul nsw i32 %j_v233, 16
  %v322 = add nsw i32 %v321, 4
  %p323 = getelementptr inbounds float, ptr %row_17, i32 %v322
  %v324 = load <4 x float>, ptr %p323, align 4, !alias.scope !1003, !noalias !2003
  %v325 = fadd <4 x float> %v320, %v324
  %p326 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 1
  store <4 x float> %v325, ptr %p326, align 16, !alias.scope !1007, !noalias !2007
  %v327 = mul nsw i32 %j_v233, 16
  %v328 = add nsw i32 %v327, 8
  %p329 = getelementptr inbounds float, ptr %row_17, i32 %v328
  %v330 = load <4 x float>, ptr %p329, align 4, !alias.scope !1003, !noalias !2003
  %v331 = load float, ptr %largest_16, align 4, !alias.scope !1002, !noalias !2002
  %v332 = insertelement <4 x float> poison, float %v331, i64 0
  %v333 = shufflevector <4 x float> %v332, <4 x float> poison, <4 x i32> zeroinitializer
  %v334 = fsub <4 x float> %v330, %v333
  %v335 = fmul <4 x float> %v334, splat (float 0x3FF7154760000000)
  %v336 = call <4 x float> @llvm.arithmetic.fence.v4f32(<4 x float> %v335)
  %v337 = fcmp olt <4 x float> %v336, splat (float 0xC062E00000000000)
  %v338 = select <4 x i1> %v337, <4 x float> splat (float 0xC062E00000000000), <4 x float> %v336
  %v339 = fcmp ogt <4 x float> %v338, splat (float 0x4060100000000000)
  %v340 = select <4 x i1> %v339, <4 x float> splat (float 0x4060100000000000), <4 x float> %v338
  %v341 = fadd <4 x float> %v340, splat (float 0x4168000000000000)
  %v342 = fsub <4 x float> %v341, splat (float 0x4168000000000000)
  %v343 = bitcast <4 x float> %v341 to <4 x i32>
  %v344 = sub <4 x i32> %v343, splat (i32 1262485504)
  %v345 = fsub <4 x float> %v340, %v342
  %v346 = fmul <4 x float> %v345, splat (float 0x3FE62E4300000000)
  %v347 = fmul <4 x float> %v345, %v345
  %v348 = call <4 x float> @llvm.fma.v4f32(<4 x float> splat (float 0x3F241FBBC0000000), <4 x float> %v345, <4 x float> splat (float 0x3F55F3E540000000))
  %v349 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v348, <4 x float> %v345, <4 x float> splat (float 0x3F83B2D4C0000000))
  %v350 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v349, <4 x float> %v345, <4 x float> splat (float 0x3FAC6AEE80000000))
  %v351 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v350, <4 x float> %v345, <4 x float> splat (float 0x3FCEBFBDC0000000))
  %v352 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v347, <4 x float> %v351, <4 x float> %v346)
  %v353 = fadd <4 x float> %v352, splat (float 0x3FF0000000000000)
  %v354 = ashr <4 x i32> %v344, splat (i32 1)
  %v355 = sub <4 x i32> %v344, %v354
  %v356 = add <4 x i32> %v354, splat (i32 127)
  %v357 = shl <4 x i32> %v356, splat (i32 23)
  %v358 = bitcast <4 x i32> %v357 to <4 x float>
  %v359 = fmul <4 x float> %v353, %v358
  %v360 = add <4 x i32> %v355, splat (i32 127)
  %v361 = shl <4 x i32> %v360, splat (i32 23)
  %v362 = bitcast <4 x i32> %v361 to <4 x float>
  %v363 = fmul <4 x float> %v359, %v362
  %v364 = mul nsw i32 %j_v233, 16
  %v365 = add nsw i32 %v364, 8
  %p366 = getelementptr inbounds float, ptr %row_17, i32 %v365
  store <4 x float> %v363, ptr %p366, align 4, !alias.scope !1003, !noalias !2003
  %p367 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 2
  %v368 = load <4 x float>, ptr %p367, align 16, !alias.scope !1007, !noalias !2007
  %v369 = mul nsw i32 %j_v233, 16
  %v370 = add nsw i32 %v369, 8
  %p371 = getelementptr inbounds float, ptr %row_17, i32 %v370
  %v372 = load <4 x float>, ptr %p371, align 4, !alias.scope !1003, !noalias !2003
  %v373 = fadd <4 x float> %v368, %v372
  %p374 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 2
  store <4 x float> %v373, ptr %p374, align 16, !alias.scope !1007, !noalias !2007
  %v375 = mul nsw i32 %j_v233, 16
  %v376 = add nsw i32 %v375, 12
  %p377 = getelementptr inbounds float, ptr %row_17, i32 %v376
  %v378 = load <4 x float>, ptr %p377, align 4, !alias.scope !1003, !noalias !2003
  %v379 = load float, ptr %largest_16, align 4, !alias.scope !1002, !noalias !2002
  %v380 = insertelement <4 x float> poison, float %v379, i64 0
  %v381 = shufflevector <4 x float> %v380, <4 x float> poison, <4 x i32> zeroinitializer
  %v382 = fsub <4 x float> %v378, %v381
  %v383 = fmul <4 x float> %v382, splat (float 0x3FF7154760000000)
  %v384 = call <4 x float> @llvm.arithmetic.fence.v4f32(<4 x float> %v383)
  %v385 = fcmp olt <4 x float> %v384, splat (float 0xC062E00000000000)
  %v386 = select <4 x i1> %v385, <4 x float> splat (float 0xC062E00000000000), <4 x float> %v384
  %v387 = fcmp ogt <4 x float> %v386, splat (float 0x4060100000000000)
  %v388 = select <4 x i1> %v387, <4 x float> splat (float 0x4060100000000000), <4 x float> %v386
  %v389 = fadd <4 x float> %v388, splat (float 0x4168000000000000)
  %v390 = fsub <4 x float> %v389, splat (float 0x4168000000000000)
  %v391 = bitcast <4 x float> %v389 to <4 x i32>
  %v392 = sub <4 x i32> %v391, splat (i32 1262485504)
  %v393 = fsub <4 x float> %v388, %v390
  %v394 = fmul <4 x float> %v393, splat (float 0x3FE62E4300000000)
  %v395 = fmul <4 x float> %v393, %v393
  %v396 = call <4 x float> @llvm.fma.v4f32(<4 x float> splat (float 0x3F241FBBC0000000), <4 x float> %v393, <4 x float> splat (float 0x3F55F3E540000000))
  %v397 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v396, <4 x float> %v393, <4 x float> splat (float 0x3F83B2D4C0000000))
  %v398 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v397, <4 x float> %v393, <4 x float> splat (float 0x3FAC6AEE80000000))
  %v399 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v398, <4 x float> %v393, <4 x float> splat (float 0x3FCEBFBDC0000000))
  %v400 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v395, <4 x float> %v399, <4 x float> %v394)
  %v401 = fadd <4 x float> %v400, splat (float 0x3FF0000000000000)
  %v402 = ashr <4 x i32> %v392, splat (i32 1)
  %v403 = sub <4 x i32> %v392, %v402
  %v404 = add <4 x i32> %v402, splat (i32 127)
  %v405 = shl <4 x i32> %v404, splat (i32 23)
  %v406 = bitcast <4 x i32> %v405 to <4 x float>
  %v407 = fmul <4 x float> %v401, %v406
  %v408 = add <4 x i32> %v403, splat (i32 127)
  %v409 = shl <4 x i32> %v408, splat (i32 23)
  %v410 = bitcast <4 x i32> %v409 to <4 x float>
  %v411 = fmul <4 x float> %v407, %v410
  %v412 = mul nsw i32 %j_v233, 16
  %v413 = add nsw i32 %v412, 12
  %p414 = getelementptr inbounds float, ptr %row_17, i32 %v413
  store <4 x float> %v411, ptr %p414, align 4, !alias.scope !1003, !noalias !2003
  %p415 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 3
  %v416 = load <4 x float>, ptr %p415, align 16, !alias.scope !1007, !noalias !2007
  %v417 = mul nsw i32 %j_v233, 16
  %v418 = add nsw i32 %v417, 12
  %p419 = getelementptr inbounds float, ptr %row_17, i32 %v418
  %v420 = load <4 x float>, ptr %p419, align 4, !alias.scope !1003, !noalias !2003
  %v421 = fadd <4 x float> %v416, %v420
  %p422 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 3
  store <4 x float> %v421, ptr %p422, align 16, !alias.scope !1007, !noalias !2007
  br label %next231
next231:
  %next234 = add nsw i32 %j_v233, 1
  br label %for229
end232:
  %v423 = load float, ptr %total_224, align 4, !alias.scope !1006, !noalias !2006
  %v424 = load <4 x float>, ptr %total_v_225, align 16, !alias.scope !1007, !noalias !2007
  %p425 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 1
  %v426 = load <4 x float>, ptr %p425, align 16, !alias.scope !1007, !noalias !2007
  %v427 = fadd <4 x float> %v424, %v426
  %p428 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 2
  %v429 = load <4 x float>, ptr %p428, align 16, !alias.scope !1007, !noalias !2007
  %p430 = getelementptr inbounds <4 x float>, ptr %total_v_225, i32 3
  %v431 = load <4 x float>, ptr %p430, align 16, !alias.scope !1007, !noalias !2007
  %v432 = fadd <4 x float> %v429, %v431
  %v433 = fadd <4 x float> %v427, %v432
  %v434 = shufflevector <4 x float> %v433, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v435 = shufflevector <4 x float> %v433, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v436 = fadd <2 x float> %v434, %v435
  %v437 = extractelement <2 x float> %v436, i64 0
  %v438 = extractelement <2 x float> %v436, i64 1
  %v439 = fadd float %v437, %v438
  %v440 = fadd float %v423, %v439
  store float %v440, ptr %total_224, align 4, !alias.scope !1006, !noalias !2006
  %v441 = load float, ptr %total_224, align 4, !alias.scope !1006, !noalias !2006
  store float %v441, ptr %scale_15, align 4, !alias.scope !1001, !noalias !2001
  %v442 = load float, ptr %scale_15, align 4, !alias.scope !1001, !noalias !2001
  %v443 = fdiv float 0x3FF0000000000000, %v442
  store float %v443, ptr %scale_15, align 4, !alias.scope !1001, !noalias !2001
  br label %for444
for444:
  %j_1_v448 = phi i32 [ 0, %end232 ], [ %next449, %next446 ]
  %v450 = icmp slt i32 %j_1_v448, 64
  br i1 %v450, label %body445, label %end447
body445:
  %v451 = mul nsw i32 %j_1_v448, 4
  %p452 = getelementptr inbounds float, ptr %row_17, i32 %v451
  %v453 = load <4 x float>, ptr %p452, align 4, !alias.scope !1003, !noalias !2003
  %v454 = load float, ptr %scale_15, align 4, !alias.scope !1001, !noalias !2001
  %v455 = insertelement <4 x float> poison, float %v454, i64 0
  %v456 = shufflevector <4 x float> %v455, <4 x float> poison, <4 x i32> zeroinitializer
  %v457 = fmul <4 x float> %v453, %v456
  %v458 = call <4 x float> @llvm.arithmetic.fence.v4f32(<4 x float> %v457)
  %v459 = mul nsw i32 %v7, 2048
  %v460 = mul nsw i32 %i12, 256
  %v461 = add nsw i32 %v459, %v460
  %v462 = mul nsw i32 %j_1_v448, 4
  %v463 = add nsw i32 %v461, %v462
  %p464 = getelementptr inbounds float, ptr %Y_3, i32 %v463
  store <4 x float> %v458, ptr %p464, align 4, !alias.scope !1000, !noalias !2000
  br label %next446
next446:
  %next449 = add nsw i32 %j_1_v448, 1
  br label %for444
end447:
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
