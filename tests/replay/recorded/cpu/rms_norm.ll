declare <4 x float> @llvm.arithmetic.fence.v4f32(<4 x float>)
declare float @llvm.sqrt.f32(float)

define void @rms_norm_kernel(ptr noalias %slots, i64 %begin, i64 %end, ptr noalias %scratch) nounwind {
entry:
  %scale_17 = alloca [1 x float], align 64
  %row_18 = alloca [256 x float], align 64
  %total_19 = alloca [1 x float], align 64
  %total_v_20 = alloca [4 x <4 x float>], align 64
  %squares_31 = alloca [1 x <4 x float>], align 64
  %squares_53 = alloca [1 x <4 x float>], align 64
  %squares_81 = alloca [1 x <4 x float>], align 64
  %squares_109 = alloca [1 x <4 x float>], align 64
  %X_1 = load ptr, ptr %slots
  %slot2 = getelementptr i64, ptr %slots, i64 1
  %W_3 = load ptr, ptr %slot2
  %slot4 = getelementptr i64, ptr %slots, i64 2
  %Y_5 = load ptr, ptr %slot4
  br label %blocks
blocks:
  %number = phi i64 [ %begin, %entry ], [ %following, %next_block ]
  %v6 = icmp slt i64 %number, %end
  br i1 %v6, label %block, label %done
block:
  %v7 = urem i64 %number, 8
  %v8 = udiv i64 %number, 8
  %v9 = trunc i64 %v7 to i32
  br label %for10
for10:
  %i14 = phi i32 [ 0, %block ], [ %next15, %next12 ]
  %v16 = icmp slt i32 %i14, 8
  br i1 %v16, label %body11, label %end13
body11:
  store float 0x0000000000000000, ptr %total_19, align 4, !alias.scope !1004, !noalias !2004
  store <4 x float> splat (float 0x8000000000000000), ptr %total_v_20, align 16, !alias.scope !1005, !noalias !2005
  %p21 = getelementptr inbounds <4 x float>, ptr %total_v_20, i32 1
  store <4 x float> splat (float 0x8000000000000000), ptr %p21, align 16, !alias.scope !1005, !noalias !2005
  %p22 = getelementptr inbounds <4 x float>, ptr %total_v_20, i32 2
  store <4 x float> splat (float 0x8000000000000000), ptr %p22, align 16, !alias.scope !1005, !noalias !2005
  %p23 = getelementptr inbounds <4 x float>, ptr %total_v_20, i32 3
  store <4 x float> splat (float 0x8000000000000000), ptr %p23, align 16, !alias.scope !1005, !noalias !2005
  br label %for24
for24:
  %j_v28 = phi i32 [ 0, %body11 ], [ %next29, %next26 ]
  %v30 = icmp slt i32 %j_v28, 16
  br i1 %v30, label %body25, label %end27
body25:
  %v32 = mul nsw i32 %v9, 2048
  %v33 = mul nsw i32 %i14, 256
  %v34 = add nsw i32 %v32, %v33
  %v35 = mul nsw i32 %j_v28, 16
  %v36 = add nsw i32 %v34, %v35
  %p37 = getelementptr inbounds half, ptr %X_1, i32 %v36
  %v38 = load <4 x half>, ptr %p37, align 2, !alias.scope !1000, !noalias !2000
  %v39 = fpext <4 x half> %v38 to <4 x float>
  %v40 = mul nsw i32 %j_v28, 16
  %p41 = getelementptr inbounds float, ptr %row_18, i32 %v40
  store <4 x float> %v39, ptr %p41, align 4, !alias.scope !1003, !noalias !2003
  %v42 = mul nsw i32 %j_v28, 16
  %p43 = getelementptr inbounds float, ptr %row_18, i32 %v42
  %v44 = load <4 x float>, ptr %p43, align 4, !alias.scope !1003, !noalias !2003
  %v45 = mul nsw i32 %j_v28, 16
  %p46 = getelementptr inbounds float, ptr %row_18, i32 %v45
  %v47 = load <4 x float>, ptr %p46, align 4, !alias.scope !1003, !noalias !2003
  %v48 = fmul <4 x float> %v44, %v47
  %v49 = call <4 x float> @llvm.arithmetic.fence.v4f32(<4 x float> %v48)
  store <4 x float> %v49, ptr %squares_31, align 16, !alias.scope !1006, !noalias !2006
  %v50 = load <4 x float>, ptr %total_v_20, align 16, !alias.scope !1005, !noalias !2005
  %v51 = load <4 x float>, ptr %squares_31, align 16, !alias.scope !1006, !noalias !2006
  %v52 = fadd <4 x float> %v50, %v51
  store <4 x float> %v52, ptr %total_v_20, align 16, !alias.scope !1005, !noalias !2005
  %v54 = mul nsw i32 %v9, 2048
  %v55 = mul nsw i32 %i14, 256
  %v56 = add nsw i32 %v54, %v55
  %v57 = mul nsw i32 %j_v28, 16
  %v58 = add nsw i32 %v57, 4
  %v59 = add nsw i32 %v56, %v58
  %p60 = getelementptr inbounds half, ptr %X_1, i32 %v59
  %v61 = load <4 x half>, ptr %p60, align 2, !alias.scope !1000, !noalias !2000
  %v62 = fpext <4 x half> %v61 to <4 x float>
  %v63 = mul nsw i32 %j_v28, 16
  %v64 = add nsw i32 %v63, 4
  %p65 = getelementptr inbounds float, ptr %row_18, i32 %v64
  store <4 x float> %v62, ptr %p65, align 4, !alias.scope !1003, !noalias !2003
  %v66 = mul nsw i32 %j_v28, 16
  %v67 = add nsw i32 %v66, 4
  %p68 = getelementptr inbounds float, ptr %row_18, i32 %v67
  %v69 = load <4 x float>, ptr %p68, align 4, !alias.scope !1003, !noalias !2003
  %v70 = mul nsw i32 %j_v28, 16
  %v71 = add nsw i32 %v70, 4
  %p72 = getelementptr inbounds float, ptr %row_18, i32 %v71
  %v73 = load <4 x float>, ptr %p72, align 4, !alias.scope !1003, !noalias !2003
  %v74 = fmul <4 x float> %v69, %v73
  %v75 = call <4 x float> @llvm.arithmetic.fence.v4f32(<4 x float> %v74)
  store <4 x float> %v75, ptr %squares_53, align 16, !alias.scope !1007, !noalias !2007
  %p76 = getelementptr inbounds <4 x float>, ptr %total_v_20, i32 1
  %v77 = load <4 x float>, ptr %p76, align 16, !alias.scope !1005, !noalias !2005
  %v78 = load <4 x float>, ptr %squares_53, align 16, !alias.scope !1007, !noalias !2007
  %v79 = fadd <4 x float> %v77, %v78
  %p80 = getelementptr inbounds <4 x float>, ptr %total_v_20, i32 1
  store <4 x float> %v79, ptr %p80, align 16, !alias.scope !1005, !noalias !2005
  %v82 = mul nsw i32 %v9, 2048
  %v83 = mul nsw i32 %i14, 256
  %v84 = add nsw i32 %v82, %v83
  %v85 = mul nsw i32 %j_v28, 16
  %v86 = add nsw i32 %v85, 8
  %v87 = add nsw i32 %v84, %v86
  %p88 = getelementptr inbounds half, ptr %X_1, i32 %v87
  %v89 = load <4 x half>, ptr %p88, align 2, !alias.scope !1000, !noalias !2000
  %v90 = fpext <4 x half> %v89 to <4 x float>
  %v91 = mul nsw i32 %j_v28, 16
  %v92 = add nsw i32 %v91, 8
  %p93 = getelementptr inbounds float, ptr %row_18, i32 %v92
  store <4 x float> %v90, ptr %p93, align 4, !alias.scope !1003, !noalias !2003
  %v94 = mul nsw i32 %j_v28, 16
  %v95 = add nsw i32 %v94, 8
  %p96 = getelementptr inbounds float, ptr %row_18, i32 %v95
  %v97 = load <4 x float>, ptr %p96, align 4, !alias.scope !1003, !noalias !2003
  %v98 = mul nsw i32 %j_v28, 16
  %v99 = add nsw i32 %v98, 8
  %p100 = getelementptr inbounds float, ptr %row_18, i32 %v99
  %v101 = load <4 x float>, ptr %p100, align 4, !alias.scope !1003, !noalias !2003
  %v102 = fmul <4 x float> %v97, %v101
  %v103 = call <4 x float> @llvm.arithmetic.fence.v4f32(<4 x float> %v102)
  store <4 x float> %v103, ptr %squares_81, align 16, !alias.scope !1008, !noalias !2008
  %p104 = getelementptr inbounds <4 x float>, ptr %total_v_20, i32 2
  %v105 = load <4 x float>, ptr %p104, align 16, !alias.scope !1005, !noalias !2005
  %v106 = load <4 x float>, ptr %squares_81, align 16, !alias.scope !1008, !noalias !2008
  %v107 = fadd <4 x float> %v105, %v106
  %p108 = getelementptr inbounds <4 x float>, ptr %total_v_20, i32 2
  store <4 x float> %v107, ptr %p108, align 16, !alias.scope !1005, !noalias !2005
  %v110 = mul nsw i32 %v9, 2048
  %v111 = mul nsw i32 %i14, 256
  %v112 = add nsw i32 %v110, %v111
  %v113 = mul nsw i32 %j_v28, 16
  %v114 = add nsw i32 %v113, 12
  %v115 = add nsw i32 %v112, %v114
  %p116 = getelementptr inbounds half, ptr %X_1, i32 %v115
  %v117 = load <4 x half>, ptr %p116, align 2, !alias.scope !1000, !noalias !2000
  %v118 = fpext <4 x half> %v117 to <4 x float>
  %v119 = mul nsw i32 %j_v28, 16
  %v120 = add nsw i32 %v119, 12
  %p121 = getelementptr inbounds float, ptr %row_18, i32 %v120
  store <4 x float> %v118, ptr %p121, align 4, !alias.scope !1003, !noalias !2003
  %v122 = mul nsw i32 %j_v28, 16
  %v123 = add nsw i32 %v122, 12
  %p124 = getelementptr inbounds float, ptr %row_18, i32 %v123
  %v125 = load <4 x float>, ptr %p124, align 4, !alias.scope !1003, !noalias !2003
  %v126 = mul nsw i32 %j_v28, 16
  %v127 = add nsw i32 %v126, 12
  %p128 = getelementptr inbounds float, ptr %row_18, i32 %v127
  %v129 = load <4 x float>, ptr %p128, align 4, !alias.scope !1003, !noalias !2003
  %v130 = fmul <4 x float> %v125, %v129
  %v131 = call <4 x float> @llvm.arithmetic.fence.v4f32(<4 x float> %v130)
  store <4 x float> %v131, ptr %squares_109, align 16, !alias.scope !1009, !noalias !2009
  %p132 = getelementptr inbounds <4 x float>, ptr %total_v_20, i32 3
  %v133 = load <4 x float>, ptr %p132, align 16, !alias.scope !1005, !noalias !2005
  %v134 = load <4 x float>, ptr %squares_109, align 16, !alias.scope !1009, !noalias !2009
  %v135 = fadd <4 x float> %v133, %v134
  %p136 = getelementptr inbounds <4 x float>, ptr %total_v_20, i32 3
  store <4 x float> %v135, ptr %p136, align 16, !alias.scope !1005, !noalias !2005
  br label %next26
next26:
  %next29 = add nsw i32 %j_v28, 1
  br label %for24
end27:
  %v137 = load float, ptr %total_19, align 4, !alias.scope !1004, !noalias !2004
  %v138 = load <4 x float>, ptr %total_v_20, align 16, !alias.scope !1005, !noalias !2005
  %p139 = getelementptr inbounds <4 x float>, ptr %total_v_20, i32 1
  %v140 = load <4 x float>, ptr %p139, align 16, !alias.scope !1005, !noalias !2005
  %v141 = fadd <4 x float> %v138, %v140
  %p142 = getelementptr inbounds <4 x float>, ptr %total_v_20, i32 2
  %v143 = load <4 x float>, ptr %p142, align 16, !alias.scope !1005, !noalias !2005
  %p144 = getelementptr inbounds <4 x float>, ptr %total_v_20, i32 3
  %v145 = load <4 x float>, ptr %p144, align 16, !alias.scope !1005, !noalias !2005
  %v146 = fadd <4 x float> %v143, %v145
  %v147 = fadd <4 x float> %v141, %v146
  %v148 = shufflevector <4 x float> %v147, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v149 = shufflevector <4 x float> %v147, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v150 = fadd <2 x float> %v148, %v149
  %v151 = extractelement <2 x float> %v150, i64 0
  %v152 = extractelement <2 x float> %v150, i64 1
  %v153 = fadd float %v151, %v152
  %v154 = fadd float %v137, %v153
  store float %v154, ptr %total_19, align 4, !alias.scope !1004, !noalias !2004
  %v155 = load float, ptr %total_19, align 4, !alias.scope !1004, !noalias !2004
  store float %v155, ptr %scale_17, align 4, !alias.scope !1002, !noalias !2002
  %v156 = load float, ptr %scale_17, align 4, !alias.scope !1002, !noalias !2002
  %v157 = fdiv float %v156, 0x4070000000000000
  %v158 = fadd float %v157, 0x3EB0C6F7A0000000
  %v159 = call float @llvm.sqrt.f32(float %v158)
  %v160 = fdiv float 0x3FF0000000000000, %v159
  store float %v160, ptr %scale_17, align 4, !alias.scope !1002, !noalias !2002
  br label %for161
for161:
  %j_1_v165 = phi i32 [ 0, %end27 ], [ %next166, %next163 ]
  %v167 = icmp slt i32 %j_1_v165, 64
  br i1 %v167, label %body162, label %end164
body162:
  %v168 = mul nsw i32 %j_1_v165, 4
  %p169 = getelementptr inbounds float, ptr %row_18, i32 %v168
  %v170 = load <4 x float>, ptr %p169, align 4, !alias.scope !1003, !noalias !2003
  %v171 = load float, ptr %scale_17, align 4, !alias.scope !1002, !noalias !2002
  %v172 = insertelement <4 x float> poison, float %v171, i64 0
  %v173 = shufflevector <4 x float> %v172, <4 x float> poison, <4 x i32> zeroinitializer
  %v174 = fmul <4 x float> %v170, %v173
  %v175 = mul nsw i32 %j_1_v165, 4
  %p176 = getelementptr inbounds half, ptr %W_3, i32 %v175
  %v177 = load <4 x half>, ptr %p176, align 2, !alias.scope !1001, !noalias !2001
  %v178 = fpext <4 x half> %v177 to <4 x float>
  %v179 = fmul <4 x float> %v174, %v178
  %v180 = call <4 x float> @llvm.arithmetic.fence.v4f32(<4 x float> %v179)
  %v181 = fptrunc <4 x float> %v180 to <4 x half>
  %v182 = mul nsw i32 %v9, 2048
  %v183 = mul nsw i32 %i14, 256
  %v184 = add nsw i32 %v182, %v183
  %v185 = mul nsw i32 %j_1_v165, 4
  %v186 = add nsw i32 %v184, %v185
  %p187 = getelementptr inbounds half, ptr %Y_5, i32 %v186
  store <4 x half> %v181, ptr %p187, align 2, !alias.scope !1000, !noalias !2000
  br label %next163
next163:
  %next166 = add nsw i32 %j_1_v165, 1
  br label %for161
end164:
  br label %next12
next12:
  %next15 = add nsw i32 %i14, 1
  br label %for10
end13:
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
!3008 = distinct !{!3008, !1}
!3009 = distinct !{!3009, !1}
!1000 = !{!3000}
!1001 = !{!3001}
!1002 = !{!3002}
!1003 = !{!3003}
!1004 = !{!3004}
!1005 = !{!3005}
!1006 = !{!3006}
!1007 = !{!3007}
!1008 = !{!3008}
!1009 = !{!3009}
!2000 = !{!3001, !3002, !3003, !3004, !3005, !3006, !3007, !3008, !3009}
!2001 = !{!3000, !3002, !3003, !3004, !3005, !3006, !3007, !3008, !3009}
!2002 = !{!3000, !3001, !3003, !3004, !3005, !3006, !3007, !3008, !3009}
!2003 = !{!3000, !3001, !3002, !3004, !3005, !3006, !3007, !3008, !3009}
!2004 = !{!3000, !3001, !3002, !3003, !3005, !3006, !3007, !3008, !3009}
!2005 = !{!3000, !3001, !3002, !3003, !3004, !3006, !3007, !3008, !3009}
!2006 = !{!3000, !3001, !3002, !3003, !3004, !3005, !3007, !3008, !3009}
!2007 = !{!3000, !3001, !3002, !3003, !3004, !3005, !3006, !3008, !3009}
!2008 = !{!3000, !3001, !3002, !3003, !3004, !3005, !3006, !3007, !3009}
!2009 = !{!3000, !3001, !3002, !3003, !3004, !3005, !3006, !3007, !3008}
